"""The console's files, open to all: they are public with the source, and hold nothing of anybody's."""

from typing import Final

from flask import Blueprint, Response, request

from errors import NotFound
from web.console_files import CODINGS, ConsoleFile
from web.console_page import guard
from web.services import services

FOREVER: Final = "public, max-age=31536000, immutable"

blueprint = Blueprint("console", __name__, url_prefix="/console")


@blueprint.get("/<path:name>")
def show(name: str) -> Response:
    """A file by its path; one whose address holds the digest of all files never changes."""
    digest, _, rest = name.partition("/")
    files = services().console
    file = files.files.get(rest) or files.files.get(name)
    if file is None:
        raise NotFound("the console has no such file")
    answer = _answer(file)
    # Of another digest: a page that an older or newer host has made. What it gets is ours, and not to be kept.
    answer.headers["Cache-Control"] = FOREVER if digest == files.digest else "no-cache"
    return answer


def _answer(file: ConsoleFile) -> Response:
    coding = next((each for each in CODINGS if request.accept_encodings.quality(each) > 0), "identity")
    answer = Response(file.encoded(coding), content_type=file.media_type)
    if coding != "identity":
        answer.headers["Content-Encoding"] = coding
    answer.headers["Vary"] = "Accept-Encoding"
    # Weak: the same file in any coding.
    answer.set_etag(file.etag, weak=True)
    return guard(answer.make_conditional(request))  # type: ignore[arg-type]  # typed as its base

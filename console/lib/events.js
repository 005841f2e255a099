// Server-sent events, read from text as it comes (HTML standard, section 9.2.6). Pure.

/** @returns {(text: string) => {id: string, event: string, data: string}[]} give it the pieces, get whole events */
export function eventReader() {
  let rest = "";
  let id = "";
  return (text) => {
    const blocks = (rest + text).replace(/\r\n?/g, "\n").split("\n\n");
    rest = blocks.pop();
    const found = [];
    for (const block of blocks) {
      const event = { event: "message", data: [] };
      for (const line of block.split("\n")) {
        if (line.startsWith(":")) continue;
        const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line);
        if (name === "data") event.data.push(value);
        else if (name === "event") event.event = value;
        else if (name === "id") id = value;
      }
      if (event.data.length || event.event !== "message") found.push({ id, event: event.event, data: event.data.join("\n") });
    }
    return found;
  };
}

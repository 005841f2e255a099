// The view layer: Preact with htm's templates, and signals.
import { h } from "preact";
import htm from "htm";

export { h, render, Fragment } from "preact";
export { useState, useEffect, useRef, useMemo, useCallback, useLayoutEffect } from "preact/hooks";
export { signal, computed, effect, batch, useSignal, useComputed, useSignalEffect } from "@preact/signals";
export const html = htm.bind(h);

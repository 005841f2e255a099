/** The types of core.js, for `tsc` alone: browsers never fetch this. */
export { h, render, Fragment } from "preact";
export { useState, useEffect, useRef, useMemo, useCallback, useLayoutEffect } from "preact/hooks";
export { signal, computed, effect, batch, useSignal, useComputed, useSignalEffect } from "@preact/signals";
export const html: (strings: TemplateStringsArray, ...values: unknown[]) => any;

/** The types of plot.js, for `tsc` alone. */
export { default as uPlot } from "uplot";

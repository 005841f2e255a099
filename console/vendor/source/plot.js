// Charts over time.
export { default as uPlot } from "uplot";

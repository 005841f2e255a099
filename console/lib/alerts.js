// Alerts as the service judges them: the last column of numbers, compared row by row (docs/alerts.md). Pure.

const COMPARE = {
  ">": (a, b) => a > b,
  "<": (a, b) => a < b,
  "=": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  ">=": (a, b) => a >= b,
  "<=": (a, b) => a <= b,
};
export const OPERATORS = Object.keys(COMPARE);

/** @returns {{column: string | null, value: number | null, beyond: object[]}} */
export function judge(fields, rows, operator, threshold) {
  const column = [...fields].reverse().find((name) => rows.some((row) => typeof row[name] === "number")) ?? null;
  if (column === null) return { column, value: null, beyond: [] };
  const numbered = rows.filter((row) => typeof row[column] === "number");
  const beyond = numbered.filter((row) => COMPARE[operator](row[column], threshold));
  return { column, value: (beyond[0] ?? numbered[0])?.[column] ?? null, beyond };
}

/** The body of an alert from the form's values. */
export const toBody = (form) => ({
  ...form.extra,
  title: form.title,
  severity: form.severity,
  query: form.query,
  queryType: form.queryType,
  ...(form.queryType === "promql" ? { datasets: [form.dataset] } : {}),
  thresholdConfig: { operator: form.operator, value: Number(form.threshold) },
  evalConfig: { rollingWindow: { evalStart: form.window, evalEnd: "now", evalFrequency: Number(form.frequency) } },
  notificationConfig: { interval: Number(form.interval) },
  targets: form.targets,
  tags: form.tags.split(",").map((each) => each.trim()).filter(Boolean),
});

const KNOWN = new Set("id title created modified author version alertType severity state notificationState tags datasets lastTriggeredAt query queryType thresholdConfig evalConfig notificationConfig targets disabledReason lastValue lastError lastEvaluatedAt lastNotifiedAt nextRunAt tenantId".split(" "));

/**
 * The form's values of an alert, or of a new one; members of other clients are kept.
 * `dataset`: the one that a new alert asks in PromQL.
 */
export const toForm = (alert, query = "", dataset = "") => ({
  extra: Object.fromEntries(Object.entries(alert ?? {}).filter(([name]) => !KNOWN.has(name))),
  title: alert?.title ?? "",
  severity: alert?.severity ?? "medium",
  query: alert?.query ?? query,
  queryType: alert?.queryType ?? (dataset ? "promql" : "code"),
  dataset: alert?.datasets?.[0] ?? dataset,
  operator: alert?.thresholdConfig.operator ?? ">",
  threshold: String(alert?.thresholdConfig.value ?? 0),
  window: alert?.evalConfig.rollingWindow.evalStart ?? "5m",
  frequency: String(alert?.evalConfig.rollingWindow.evalFrequency ?? 1),
  interval: String(alert?.notificationConfig.interval ?? 60),
  targets: alert?.targets ?? [],
  tags: (alert?.tags ?? []).join(", "),
});

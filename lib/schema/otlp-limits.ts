/** Defaults of the limits on traces from OpenTelemetry. The configuration needs them before any package is loaded. */

/** Default of OTLP_MAX_SPANS, the maximum number of spans in an OpenTelemetry trace. */
export const DEFAULT_MAX_SPANS = 10_000

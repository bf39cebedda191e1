/**
 * Defaults of the limits on traces from OpenTelemetry. The configuration needs these defaults before any package is
 * loaded.
 */

/** Default of OTLP_MAX_SPANS, the maximum number of spans in an OpenTelemetry trace. */
export const DEFAULT_MAX_SPANS = 10_000
/** Default of OTLP_MAX_TRACE_BYTES, the size beyond which the texts of an OpenTelemetry trace's spans are truncated. */
export const DEFAULT_MAX_TRACE_BYTES = 256 * 1024 * 1024
/** Maximum value of OTLP_MAX_SPANS, and maximum number of spans in an import line. */
export const MAX_IMPORTED_SPANS = 100_000
/** Maximum number of attributes that OTLP_TAGS names. A trace has at most 20 tags. */
export const MAX_TAG_NAMES = 10
/** Maximum length of a name in OTLP_TAGS, in characters. A tag has at most 64, of which some are the value. */
export const MAX_TAG_NAME = 48

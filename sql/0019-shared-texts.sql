-- A trace's input or output that equals that of one of its spans is stored in the span only, where it is packed
-- together with other texts (lib/rows/trace-texts.ts). The trace's row then names the span, and has null in `input` or
-- `output`. If a row has both, the text in the row counts.
alter table traces
  add column input_span_id bytea,
  add column output_span_id bytea,
  -- UTF-8 bytes of the text in that span; null if the trace's row has the text.
  add column input_bytes int,
  add column output_bytes int;

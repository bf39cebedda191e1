-- Facts of a model call beside the fields that every span has (lib/trace/call-details.ts): the provider's response id.
-- Only the service reads them. Null for spans that have none, and for those that clients record.
alter table spans add column call_details json;

# gem install opentelemetry-sdk opentelemetry-exporter-otlp
require "opentelemetry/sdk"
require "opentelemetry/exporter/otlp"

OpenTelemetry::SDK.configure # reads OTEL_EXPORTER_OTLP_…
tracer = OpenTelemetry.tracer_provider.tracer("shop")

asked = {
  "gen_ai.operation.name" => "invoke_agent",
  "session.id" => "chat-1042",
  "input.value" => "Where is my order?"
}
tracer.in_span("answer", attributes: asked) do |agent|
  tracer.in_span("chat gpt-4o-mini") do |chat|
    chat.add_attributes(
      "gen_ai.operation.name" => "chat",
      "gen_ai.provider.name" => "openai",
      "gen_ai.request.model" => "gpt-4o-mini",
      "gen_ai.usage.input_tokens" => 120,
      "gen_ai.usage.output_tokens" => 40
    )
  end

  tracer.in_span("find_order") do |tool|
    tool.set_attribute("gen_ai.operation.name", "execute_tool")
    tool.status = OpenTelemetry::Trace::Status.error("no such order")
  end

  agent.set_attribute("output.value", "It is on its way.")
end

OpenTelemetry.tracer_provider.shutdown # sends the last batch

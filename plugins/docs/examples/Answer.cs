// dotnet add package OpenTelemetry.Exporter.OpenTelemetryProtocol
using System.Diagnostics;
using OpenTelemetry;
using OpenTelemetry.Trace;

var source = new ActivitySource("shop");

// Reads OTEL_EXPORTER_OTLP_…; disposing of the provider sends the last batch.
using var provider = Sdk.CreateTracerProviderBuilder()
    .AddSource("shop")
    .AddOtlpExporter()
    .Build();

using var agent = source.StartActivity("answer");
agent?.SetTag("gen_ai.operation.name", "invoke_agent");
agent?.SetTag("session.id", "chat-1042");
agent?.SetTag("input.value", "Where is my order?");

using (var chat = source.StartActivity("chat gpt-4o-mini"))
{
    chat?.SetTag("gen_ai.operation.name", "chat");
    chat?.SetTag("gen_ai.provider.name", "openai");
    chat?.SetTag("gen_ai.request.model", "gpt-4o-mini");
    chat?.SetTag("gen_ai.usage.input_tokens", 120);
    chat?.SetTag("gen_ai.usage.output_tokens", 40);
}

using (var tool = source.StartActivity("find_order"))
{
    tool?.SetTag("gen_ai.operation.name", "execute_tool");
    tool?.SetStatus(ActivityStatusCode.Error, "no such order");
}

agent?.SetTag("output.value", "It is on its way.");

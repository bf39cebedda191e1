// go get go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp
package main

import (
	"context"
	"log"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/trace"
)

func main() {
	ctx := context.Background()
	exporter, err := otlptracehttp.New(ctx) // reads OTEL_EXPORTER_OTLP_…
	if err != nil {
		log.Fatal(err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
	defer provider.Shutdown(ctx) // sends the last batch
	tracer := provider.Tracer("shop")

	ctx, agent := tracer.Start(ctx, "answer")
	defer agent.End()
	agent.SetAttributes(
		attribute.String("gen_ai.operation.name", "invoke_agent"),
		attribute.String("session.id", "chat-1042"),
		attribute.String("input.value", "Where is my order?"),
		attribute.String("output.value", "It is on its way."),
	)

	_, chat := tracer.Start(ctx, "chat gpt-4o-mini")
	chat.SetAttributes(
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", "openai"),
		attribute.String("gen_ai.request.model", "gpt-4o-mini"),
		attribute.Int("gen_ai.usage.input_tokens", 120),
		attribute.Int("gen_ai.usage.output_tokens", 40),
	)
	chat.End()

	_, tool := tracer.Start(ctx, "find_order")
	tool.SetAttributes(attribute.String("gen_ai.operation.name", "execute_tool"))
	tool.SetStatus(codes.Error, "no such order")
	tool.End()
}

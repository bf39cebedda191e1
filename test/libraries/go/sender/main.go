// Sends runs through OpenTelemetry's exporter over HTTP, gzipped, which tries again while nobody answers. Prints the trace
// id of each run, a line each. The exporter reads OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

const pause = 20 * time.Millisecond

func main() {
	runs, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal("the number of runs is needed")
	}
	ctx := context.Background()
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithTimeout(5*time.Second),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: 200 * time.Millisecond, MaxInterval: time.Second, MaxElapsedTime: 2 * time.Minute,
		}),
	)
	if err != nil {
		log.Fatal(err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter,
		trace.WithBatchTimeout(300*time.Millisecond), trace.WithExportTimeout(2*time.Minute), trace.WithMaxQueueSize(8192),
	))
	tracer := provider.Tracer("shop")
	for i := range runs {
		fmt.Println(record(ctx, tracer, i))
		time.Sleep(pause)
	}
	end, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := provider.Shutdown(end); err != nil {
		log.Fatal(err)
	}
}

// record makes a run with a model's call, and a call of a tool that fails, and returns its trace id.
func record(ctx context.Context, tracer api.Tracer, i int) api.TraceID {
	ctx, root := tracer.Start(ctx, "answer", api.WithAttributes(attribute.String("session.id", "s-"+strconv.Itoa(i%10))))
	_, call := tracer.Start(ctx, "chat", api.WithAttributes(
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", "openai"),
		attribute.String("gen_ai.request.model", "gpt-4o-mini"),
		attribute.Int("gen_ai.usage.input_tokens", 100),
		attribute.Int("gen_ai.usage.output_tokens", 20),
	))
	call.End()
	_, tool := tracer.Start(ctx, "get_weather", api.WithAttributes(attribute.String("gen_ai.operation.name", "execute_tool")))
	tool.RecordError(errors.New("no such city"))
	tool.SetStatus(codes.Error, "no such city")
	tool.End()
	root.End()
	return root.SpanContext().TraceID()
}

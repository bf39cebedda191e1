// io.opentelemetry:opentelemetry-sdk-extension-autoconfigure
// io.opentelemetry:opentelemetry-exporter-otlp
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk;

public class Answer {
  public static void main(String[] args) {
    // Reads OTEL_EXPORTER_OTLP_…
    var sdk = AutoConfiguredOpenTelemetrySdk.initialize().getOpenTelemetrySdk();
    answer(sdk.getTracer("shop"));
    sdk.close(); // sends the last batch
  }

  static void answer(Tracer tracer) {
    Span agent =
        tracer
            .spanBuilder("answer")
            .setAttribute("gen_ai.operation.name", "invoke_agent")
            .setAttribute("session.id", "chat-1042")
            .setAttribute("input.value", "Where is my order?")
            .startSpan();
    try (Scope scope = agent.makeCurrent()) {
      tracer
          .spanBuilder("chat gpt-4o-mini")
          .setAttribute("gen_ai.operation.name", "chat")
          .setAttribute("gen_ai.provider.name", "openai")
          .setAttribute("gen_ai.request.model", "gpt-4o-mini")
          .setAttribute("gen_ai.usage.input_tokens", 120)
          .setAttribute("gen_ai.usage.output_tokens", 40)
          .startSpan()
          .end();
      tracer
          .spanBuilder("find_order")
          .setAttribute("gen_ai.operation.name", "execute_tool")
          .startSpan()
          .setStatus(StatusCode.ERROR, "no such order")
          .end();
      agent.setAttribute("output.value", "It is on its way.");
    } finally {
      agent.end();
    }
  }
}

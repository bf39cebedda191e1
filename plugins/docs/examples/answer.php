<?php
// composer require open-telemetry/sdk open-telemetry/exporter-otlp guzzlehttp/guzzle
// Set OTEL_PHP_AUTOLOAD_ENABLED=true as well; the last batch is sent at the end.
require __DIR__ . '/vendor/autoload.php';

use OpenTelemetry\API\Globals;
use OpenTelemetry\API\Trace\StatusCode;

$tracer = Globals::tracerProvider()->getTracer('shop');

$agent = $tracer->spanBuilder('answer')
    ->setAttribute('gen_ai.operation.name', 'invoke_agent')
    ->setAttribute('session.id', 'chat-1042')
    ->setAttribute('input.value', 'Where is my order?')
    ->startSpan();
$scope = $agent->activate();
try {
    $tracer->spanBuilder('chat gpt-4o-mini')
        ->setAttribute('gen_ai.operation.name', 'chat')
        ->setAttribute('gen_ai.provider.name', 'openai')
        ->setAttribute('gen_ai.request.model', 'gpt-4o-mini')
        ->setAttribute('gen_ai.usage.input_tokens', 120)
        ->setAttribute('gen_ai.usage.output_tokens', 40)
        ->startSpan()
        ->end();

    $tracer->spanBuilder('find_order')
        ->setAttribute('gen_ai.operation.name', 'execute_tool')
        ->startSpan()
        ->setStatus(StatusCode::STATUS_ERROR, 'no such order')
        ->end();

    $agent->setAttribute('output.value', 'It is on its way.');
} finally {
    $scope->detach();
    $agent->end();
}

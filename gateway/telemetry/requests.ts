/** Metrics and spans of the requests that a gateway's doors get, by the conventions of OpenTelemetry for HTTP and RPC. */
import type { MetricFamily, Telemetry } from '../../core/telemetry/port.ts';
import type { AccessEntry, Ending, RequestWatcher } from '../access-log/access-log.ts';

const httpDuration: MetricFamily<'method' | 'route' | 'status'> = {
  name: 'signmesh_http_request_duration_seconds',
  help: 'From the first byte of a request to the end of its answer, by route pattern. Status 0: the caller left first.',
  labels: ['method', 'route', 'status'],
};
const grpcDuration: MetricFamily<'method' | 'status'> = {
  name: 'signmesh_grpc_request_duration_seconds',
  help: 'From the begin of a call to its status, by method. Status CANCELLED: the caller left first.',
  labels: ['method', 'status'],
};
const refusals: MetricFamily<'door' | 'code'> = {
  name: 'signmesh_request_refusals_total',
  help: 'Requests answered with an error, by its code: rate_limited, insufficient_scope, invalid_request, ...',
  labels: ['door', 'code'],
};
const receipts: MetricFamily<'state' | 'reason_code'> = {
  name: 'signmesh_receipts_total',
  help: 'Signing calls answered in band, by the state and the reason code of their receipts.',
  labels: ['state', 'reason_code'],
};

/** A path that no route serves is the caller's text: it makes no label. */
const noRoute = 'none';

export function measureRequests({ metrics, tracer }: Telemetry): RequestWatcher {
  const observeHttp = metrics.histogram(httpDuration);
  const observeGrpc = metrics.histogram(grpcDuration);
  const countRefusal = metrics.counter(refusals);
  const countReceipt = metrics.counter(receipts);
  return {
    begun(entry, traceparent) {
      if (!tracer.isOn) return traceparent;
      entry.span = tracer.start('request', 'server', traceparent ?? '', { 'signmesh.request_id': entry.requestId });
      return entry.span.traceparent;
    },
    ended(entry, ending) {
      const seconds = (ending.endedMs - entry.startedMs) / 1000;
      const { door, route = noRoute, method = 'none' } = ending;
      if (door === 'http')
        observeHttp({ method, route, status: String(ending.aborted ? 0 : (ending.status ?? 0)) }, seconds);
      else observeGrpc({ method: ending.route ?? noRoute, status: grpcStatusOf(ending) }, seconds);
      if (entry.error !== undefined) countRefusal({ door, code: entry.error.entry.code });
      if (entry.receipt !== undefined) {
        countReceipt({ state: entry.receipt.state, reason_code: entry.receipt.reasonCode });
      }
      entry.span?.end(spanEnd(entry, ending));
    },
  };
}

function grpcStatusOf({ aborted, grpcStatus }: Ending): string {
  return aborted ? 'CANCELLED' : (grpcStatus ?? 'UNKNOWN');
}

function spanEnd({ error, receipt, principal }: AccessEntry, ending: Ending) {
  const isFault = (ending.status ?? 0) >= 500 || ending.aborted;
  return {
    ...(isFault && { error: error?.entry.code ?? (ending.aborted ? 'aborted' : 'error') }),
    attributes: {
      ...(ending.door === 'http'
        ? {
            'http.request.method': ending.method ?? '',
            'http.route': ending.route ?? noRoute,
            'http.response.status_code': ending.status ?? 0,
          }
        : { 'rpc.system': 'grpc', 'rpc.method': ending.route ?? noRoute, 'rpc.grpc.status': grpcStatusOf(ending) }),
      ...(principal !== undefined && { 'signmesh.tenant': principal.tenant }),
      ...(error !== undefined && { 'error.type': error.entry.code }),
      ...(receipt !== undefined && {
        'signmesh.receipt_id': receipt.receiptId,
        'signmesh.reason_code': receipt.reasonCode,
        ...(receipt.sessionId !== '' && { 'signmesh.session_id': receipt.sessionId }),
      }),
    },
  };
}

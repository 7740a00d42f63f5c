/** Checks steps with `transport: grpc`: calls that gRPC lacks, and fields that only its calls have. */
import type { CallStep } from './client.ts';
import type { Path, ReportFault } from './explain.ts';

export function checkTransport(step: CallStep, path: Path, report: ReportFault): void {
  const { transport, deadline_ms: deadlineMs, expect } = step;
  if (transport === undefined) {
    const needs = [
      ['deadline_ms', deadlineMs, [...path, 'deadline_ms']],
      ['grpc', expect?.grpc, [...path, 'expect', 'grpc']],
      ['grpc_reason', expect?.grpc_reason, [...path, 'expect', 'grpc_reason']],
    ] as const;
    for (const [field, value, at] of needs) {
      if (value !== undefined) report(at, `${field} is of gRPC calls`, 'give transport: grpc');
    }
    return;
  }
  const isOfService = 'wallet_service' in step && step.wallet_service === true;
  if (
    isOfService ||
    ['refresh_key', 'close_key', 'inspect_session', 'preview_partial', 'read_sessions'].includes(step.call)
  ) {
    report([...path, 'transport'], 'gRPC has the calls of the signing API alone', 'leave it out');
  }
  if ('keystore_type' in step && step.keystore_type !== undefined) {
    report([...path, 'transport'], 'a key of this type is made through the sandbox API', 'leave it out');
  }
  if ('wallet_terms' in step && step.wallet_terms !== undefined) {
    report([...path, 'transport'], 'a gateway reads the terms of a wallet itself', 'make a wallet instead');
  }
}

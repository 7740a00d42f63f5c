/** What steps may get wrong about the gRPC door: calls that it does not have, and what only its calls have. */
import type { CallStep } from './client.ts';
import type { Path } from './explain.ts';

type Report = (path: Path, message: string, remedy?: string) => void;

export function checkDoor(step: CallStep, path: Path, report: Report): void {
  const { door, deadline_ms: deadlineMs, expect } = step;
  if (door === undefined) {
    const needs = [
      ['deadline_ms', deadlineMs, [...path, 'deadline_ms']],
      ['grpc', expect?.grpc, [...path, 'expect', 'grpc']],
      ['grpc_reason', expect?.grpc_reason, [...path, 'expect', 'grpc_reason']],
    ] as const;
    for (const [field, value, at] of needs) {
      if (value !== undefined) report(at, `${field} is of calls through the gRPC door`, 'give door: grpc');
    }
    return;
  }
  const isOfService = 'wallet_service' in step && step.wallet_service === true;
  if (isOfService || ['close_key', 'inspect_session', 'preview_partial'].includes(step.call)) {
    report([...path, 'door'], 'the gRPC door has the calls of the signing API alone', 'leave it out');
  }
  if ('keystore_type' in step && step.keystore_type !== undefined) {
    report([...path, 'door'], 'a key of this type is made through the sandbox API', 'leave it out');
  }
  if ('wallet_terms' in step && step.wallet_terms !== undefined) {
    report([...path, 'door'], 'a gateway reads the terms of a wallet itself', 'make a wallet instead');
  }
}

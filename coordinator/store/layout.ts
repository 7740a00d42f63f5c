/**
 * How sessions and keys lie in Redis. All keys of a tenant carry its hash tag, so that one script may write them and
 * Redis Cluster can hold them.
 *
 * A session is a hash: the fields that scripts compare or change stand by themselves, the rest is JSON.
 */
import type { CoordinatorRecord } from '../messages.ts';
import type { KeyRecord, SessionRecord } from '../session/record.ts';

function tag(tenant: string): string {
  return `sm:{t:${tenant}}`;
}

export const redisKeys = {
  session: (tenant: string, sessionId: string) => `${tag(tenant)}:session:${sessionId}`,
  sessionPrefix: (tenant: string) => `${tag(tenant)}:session:`,
  intent: (tenant: string, intentId: string) => `${tag(tenant)}:intent:${intentId}`,
  key: (tenant: string, keyId: string) => `${tag(tenant)}:key:${keyId}`,
  /** The highest fence that wrote for this tenant. */
  fence: (tenant: string) => `${tag(tenant)}:fence`,
  /** The counter that gives every coordinator start its fence. */
  fenceCounter: (clusterId: string) => `sm:fence:${clusterId}`,
};

/** The fields that stand by themselves, then the rest as JSON, in the order in which the scripts take them. */
export function sessionArguments(session: SessionRecord): string[] {
  const { epoch, state, reasonCode, message, checkpointId, checkpointMs, expiresMs, ...rest } = session;
  return [
    String(epoch),
    String(state),
    reasonCode,
    message,
    checkpointId,
    String(checkpointMs),
    String(expiresMs),
    JSON.stringify(rest),
  ];
}

/** From the fields of the hash; undefined when there are none. */
export function readSession(fields: Readonly<Record<string, string>>): SessionRecord | undefined {
  if (fields.data === undefined) return undefined;
  return {
    ...(JSON.parse(fields.data) as SessionRecord),
    epoch: Number(fields.epoch),
    state: Number(fields.state) as SessionRecord['state'],
    reasonCode: fields.reasonCode as SessionRecord['reasonCode'],
    message: fields.message ?? '',
    checkpointId: fields.checkpointId ?? '',
    checkpointMs: Number(fields.checkpointMs),
    expiresMs: Number(fields.expiresMs),
  };
}

export function sessionRecord(session: SessionRecord | undefined): CoordinatorRecord | undefined {
  return session ? { kind: 'session', session } : undefined;
}

export function readKey(json: string | null): CoordinatorRecord | undefined {
  return json === null ? undefined : { kind: 'key', key: JSON.parse(json) as KeyRecord };
}

/**
 * How sessions and keys lie in Redis. All keys of a tenant carry its hash tag, so that one script may write them and
 * Redis Cluster can hold them.
 *
 * A session is a hash: the fields that scripts compare or change stand by themselves, the rest is JSON.
 */
import { closedKeyName } from '../../proto/closed-keys.ts';
import { eventTokens, type LoggedEvent, tenantPrefix } from '../../proto/event-log.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { bindingAtMaking } from '../../proto/key-schemes.ts';
import { isWalletKey } from '../../proto/limits.ts';
import type { CoordinatorRecord } from '../messages.ts';
import type { KeyRecord, SessionRecord } from '../session/record.ts';
import { isTerminal } from '../session/transitions.ts';

export const redisKeys = {
  session: (tenant: string, sessionId: string) => `${tenantPrefix(tenant)}session:${sessionId}`,
  intent: (tenant: string, intentId: string) => `${tenantPrefix(tenant)}intent:${intentId}`,
  /** The same for the wallet service, whose intents are a space of their own. */
  order: (tenant: string, intentId: string) => `${tenantPrefix(tenant)}order:${intentId}`,
  /** Sorted set: a wallet key's sessions that have not ended, by the end of their lifetime. */
  open: (tenant: string, keyId: string) => `${tenantPrefix(tenant)}open:${keyId}`,
  /** Stands for ever, once the key of a wallet is closed. The gateway sets it too, when it archives the wallet. */
  closed: (tenant: string, keyId: string) => `${tenantPrefix(tenant)}${closedKeyName(keyId)}`,
  /** Sorted set: all sessions of the tenant that have not ended, by the end of their lifetime. */
  ending: (tenant: string) => `${tenantPrefix(tenant)}ending`,
  key: (tenant: string, keyId: string) => `${tenantPrefix(tenant)}key:${keyId}`,
  /** The highest fence that wrote for this tenant. */
  fence: (tenant: string) => `${tenantPrefix(tenant)}fence`,
  /** Sorted set, over all tenants: see ending-sessions.ts. */
  endingTenants: 'sm:ending',
  /** The counter that gives every coordinator start its fence. */
  /** Written now and then, to see whether Redis takes writes. */
  probe: 'sm:probe:coordinator',
  fenceCounter: (clusterId: string) => `sm:fence:${clusterId}`,
};

/** What a new session is to the key of a wallet; empty: it is of no such key, or has ended with its beginning. */
export function openingOf({ state, ceremony }: SessionRecord): 'checked' | 'listed' | '' {
  if (ceremony.kind !== 'signing' || !isWalletKey(ceremony.facts.keyId) || isTerminal(state)) return '';
  // A mock directive comes before any key; its resume is checked.
  return ceremony.curve === '' ? 'listed' : 'checked';
}

/** What the next epoch of a session is to the key of a wallet. */
export function changeOf({ state, ceremony }: SessionRecord): 'goesOn' | 'completes' | 'ends' | '' {
  if (ceremony.kind !== 'signing' || !isWalletKey(ceremony.facts.keyId)) return '';
  if (state === ReceiptState.RESUMED) return 'goesOn';
  if (state === ReceiptState.BACKEND_COMPLETED) return 'completes';
  return isTerminal(state) ? 'ends' : '';
}

/** When the lifetime of a session ends; empty: it has ended already. */
export function endingOf({ state, expiresMs }: SessionRecord): string {
  return isTerminal(state) ? '' : String(expiresMs);
}

/**
 * The fields that stand by themselves, then the rest as JSON, in the order in which the scripts take them; then the tokens
 * of its event, if there is one.
 */
export function sessionArguments(session: SessionRecord, event: LoggedEvent | undefined): string[] {
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
    ...(event ? eventTokens(event) : []),
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

type Added = 'scheme' | 'exposed' | 'clientSuppliedDealers';

/** A record of before keys were bound is read as that of a key that has not signed yet, and whose dealers are unknown. */
export function readKey(json: string | null): CoordinatorRecord | undefined {
  if (json === null) return undefined;
  const stored = JSON.parse(json) as Omit<KeyRecord, Added> & Partial<KeyRecord>;
  const scheme = stored.scheme ?? bindingAtMaking(stored.curve, '') ?? '';
  return { kind: 'key', key: { clientSuppliedDealers: [], exposed: false, ...stored, scheme } };
}

/**
 * Inboxes: receivers of webhooks at this gateway, for a sandbox. An inbox keeps the last deliveries in memory, with what its checks of
 * their signatures found. It ends with the gateway, and with a reset.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { MachineMs, RandomBytes, Timers } from '../../core/actors/contract.ts';
import { signDelivery } from '../../wallets/delivery/deliveries/public.ts';

export type SignatureCheck = 'valid' | 'invalid' | 'missing';

export interface InboxDelivery {
  readonly receivedMs: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The beginning. */
  readonly body: Uint8Array;
  readonly bytes: number;
  readonly checks: {
    readonly body: SignatureCheck;
    readonly timestamp: SignatureCheck;
    readonly standard: SignatureCheck;
  };
  /** null: its connection was cut. */
  readonly answered: number | null;
}

export interface Inbox {
  /** Of its webhook. */
  readonly id: string;
  readonly tenant: string;
  readonly url: string;
  readonly createdMs: number;
  received: number;
  /** The newest last. */
  readonly deliveries: InboxDelivery[];
}

interface OpenInbox extends Inbox {
  readonly key: string;
  readonly secret: string;
}

export const deliveriesKept = 200;
export const inboxBodyBytes = 64 * 1024;
export const inboxesMax = 100;
const keyBytes = 16;
/** As receivers of Standard Webhooks allow. */
const skewMaxS = 5 * 60;

export class Inboxes {
  readonly #ports: { readonly random: RandomBytes; readonly timers: Pick<Timers, 'epochMs'> };
  /** Where the workers of this sandbox reach this gateway; undefined: nowhere. */
  #address: string | undefined;
  /** Oldest first, by id. */
  readonly #open = new Map<string, OpenInbox>();

  constructor(ports: { readonly random: RandomBytes; readonly timers: Pick<Timers, 'epochMs'> }) {
    this.#ports = ports;
  }

  /** `address`: host and port at which this gateway listens, which the workers reach. */
  reachedAt(address: string): void {
    this.#address = address.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:');
  }

  /** A URL that no one can guess; undefined: the workers reach this gateway nowhere. */
  newPlace(): { readonly key: string; readonly url: string } | undefined {
    if (this.#address === undefined) return undefined;
    const key = Buffer.from(this.#ports.random(keyBytes)).toString('hex');
    return { key, url: `http://${this.#address}${inboxPath}${key}` };
  }

  open(id: string, tenant: string, place: { readonly key: string; readonly url: string }, secret: string): Inbox {
    const createdMs = this.#ports.timers.epochMs();
    const inbox: OpenInbox = { id, tenant, ...place, secret, createdMs, received: 0, deliveries: [] };
    this.#open.set(id, inbox);
    if (this.#open.size > inboxesMax) this.#open.delete(this.#open.keys().next().value!);
    return inbox;
  }

  /** Of a tenant, the newest first. */
  of(tenant: string): readonly Inbox[] {
    return [...this.#open.values()].filter((inbox) => inbox.tenant === tenant).reverse();
  }

  find(tenant: string, id: string): Inbox | undefined {
    const inbox = this.#open.get(id);
    return inbox?.tenant === tenant ? inbox : undefined;
  }

  /** Whether it was there. */
  close(id: string): boolean {
    return this.#open.delete(id);
  }

  /** The inbox at a URL. */
  at(key: string): Inbox | undefined {
    for (const inbox of this.#open.values()) if (isSame(inbox.key, key)) return inbox;
    return undefined;
  }

  /** `answered`: null when the connection is cut. */
  receive(inbox: Inbox, headers: Readonly<Record<string, string>>, body: Uint8Array, answered: number | null): void {
    const receivedMs = this.#ports.timers.epochMs();
    const { secret } = inbox as OpenInbox;
    const checks = checksOf(headers, body, secret, receivedMs);
    inbox.received += 1;
    const kept = Uint8Array.from(body.subarray(0, inboxBodyBytes));
    inbox.deliveries.push({ receivedMs, headers, body: kept, bytes: body.length, checks, answered });
    if (inbox.deliveries.length > deliveriesKept) inbox.deliveries.shift();
  }

  /** The stored state was replaced: their webhooks are gone. */
  clear(): void {
    this.#open.clear();
  }
}

export const inboxPath = '/v1/sandbox/inbox/';

function checksOf(
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
  secret: string,
  nowMs: number,
): InboxDelivery['checks'] {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'x-svc-signature': bodySignature } = headers;
  const { 'webhook-signature': standardSignatures } = headers;
  const signedS = /^[0-9]{1,15}$/.test(timestamp ?? '') ? Number(timestamp) : undefined;
  const expected = signDelivery([secret], id ?? '', ((signedS ?? 0) * 1_000) as MachineMs, body);
  const check = (given: string | undefined, isValid: (given: string) => boolean): SignatureCheck =>
    given === undefined ? 'missing' : isValid(given) ? 'valid' : 'invalid';
  return {
    body: check(bodySignature, (given) => isSame(given, expected['x-svc-signature'])),
    timestamp: check(timestamp, () => signedS !== undefined && Math.abs(nowMs / 1_000 - signedS) <= skewMaxS),
    standard: check(id === undefined ? undefined : standardSignatures, (given) =>
      given.split(' ').some((one) => isSame(one, expected['webhook-signature'])),
    ),
  };
}

/** In a time that tells nothing of either. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

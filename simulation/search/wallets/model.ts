/**
 * A sequential model of a tenant, written from docs/wallet-api.md and docs/tokens.md; it shares no code with the product. Every
 * change writes its events in its own commit, so the event log is the one order of all changes. The model follows it: the
 * required decision about each transfer and order, the votes that count, the transitions allowed in each state. calls.ts compares
 * the state of each resource at each place of the log with the answers of the calls.
 */

import { Ballots, type CountedVote } from '../../service/invariants/ballots.ts';
import { DocumentedLedger, type ToldEvent } from '../../service/invariants/documented-ledger.ts';
import { DocumentedModules } from '../../service/invariants/documented-modules.ts';
import { Finding, found } from '../../service/invariants/finding.ts';
import { Supplies } from '../../service/invariants/supplies.ts';
import { ConnectionTimelines } from './connections.ts';
import { Controls, type Decided } from './controls-in-force.ts';
import { Holdings } from './holdings.ts';
import type { Listing } from './policies.ts';
import { Scores } from './scores.ts';
import type { Tenancy } from './tenancy.ts';
import { Timeline } from './timeline.ts';

export interface WalletState {
  readonly status: string;
  readonly signingApi: string;
  readonly version: number;
}

export interface IntentState {
  readonly walletId: string;
  readonly status: string;
  readonly version: number;
  readonly initiator: string;
  readonly approvers: readonly string[];
  readonly votes: readonly CountedVote[];
  readonly expiresAt: string;
}

/** The destination of redeemed units. */
const nowhere = `0x${'0'.repeat(40)}`;
const approvedLifetimeMs = 24 * 3_600_000;
const lifetimeSlackMs = 300_000;
const opening = ['pending_approval', 'approved', 'denied'];
const effects = { allow: 'approved', require_approval: 'pending_approval', deny: 'denied' } as const;
const orderEffects = { allow: 'reserve_check', require_approval: 'pending_approval', deny: 'rejected' } as const;

export class Model {
  readonly wallets = new Map<string, Timeline<WalletState>>();
  readonly intents = new Map<string, Timeline<IntentState>>();
  /** The policies' decision about each intent and order. */
  readonly decided = new Map<string, Decided>();
  readonly ledger = new DocumentedLedger(undefined, new DocumentedModules());
  readonly #controls: Controls;
  readonly #ballots: Ballots;
  readonly #scores: Scores;
  readonly connections = new ConnectionTimelines();
  readonly #holdings: Holdings;
  readonly supplies = new Supplies();
  readonly #settings = new Map<string, { readonly mode: string; readonly policy: string | null }>();
  readonly #made = new Map<string, number>();
  /** Policies that an intent or order named itself, by the key in its metadata. */
  readonly #named: ReadonlyMap<string, string>;
  /** Orders whose intent comes before them in the log. */
  readonly #opened = new Set<string>();

  constructor(tenancy: Tenancy) {
    this.#controls = new Controls(tenancy);
    this.#ballots = new Ballots(tenancy.clocksOffMs);
    this.#scores = new Scores(tenancy.calls);
    this.#holdings = new Holdings(tenancy.modules, this.ledger);
    this.#named = tenancy.namedPolicies;
  }

  follow(events: readonly ToldEvent[]): void {
    for (const event of events) {
      const { resource, type } = event;
      if (resource.type === 'wallet') this.#wallet(event);
      this.#controls.take(event);
      this.connections.take(event);
      if (type.startsWith('transaction_intent.')) this.#intent(event);
      if (type.startsWith('token.order.')) this.#order(event);
      this.supplies.take(event);
      this.ledger.follow([event]);
      this.#holdings.take(event);
      this.#scores.take(event, this.decided.get(resource.id)?.riskScore);
    }
    this.#ballots.end();
  }

  /** By the lists in force at the end of the log so far. */
  listing(address: string): Listing {
    return this.#controls.listing(address);
  }

  #wallet({ resource, sequence, data }: ToldEvent): void {
    const { status, version, approval_mode: mode, policy, signing_api: signingApi } = data.object;
    timelineOf(this.wallets, resource.id).set(sequence, { status, version, signingApi });
    this.#settings.set(resource.id, { mode, policy });
  }

  #intent(event: ToldEvent): void {
    const { type, sequence, resource, data } = event;
    const { id } = resource;
    const told = data.object;
    const happening = type.slice('transaction_intent.'.length);
    const isOrdered = told.origin?.kind === 'token-order';
    if (happening === 'created') {
      this.#active(event, told.wallet_id);
      if (isOrdered) this.#opened.add(told.origin.id as string);
      else this.#decide(id, told, told.destination.address);
      this.#count(told.wallet_id);
      this.#count(`${told.wallet_id} ${told.destination.address}`);
    }
    const standing = timelineOf(this.intents, id);
    if (!isOrdered && opening.includes(happening) && told.version === 1) this.#asDecided(event, effects);
    this.#ballots.take(event, 'approved');
    if (happening === 'approved') checkLifetime(event);
    if (happening === 'approval_recorded' && told.approvals.at(-1).decision === 'approve') {
      this.#active(event, told.wallet_id);
    }
    if (happening === 'signing') {
      this.#active(event, told.wallet_id);
      if (standing.last?.status !== 'approved')
        found('decided-as-written', `event ${sequence}: ${id} signs as ${standing.last?.status}`);
      this.supplies.moves(event);
    }
    standing.set(sequence, {
      walletId: told.wallet_id,
      status: told.status,
      version: resource.version,
      initiator: told.initiator,
      approvers: told.approvers,
      votes: told.approvals,
      expiresAt: told.expires_at,
    });
  }

  #order(event: ToldEvent): void {
    const { type, resource, data } = event;
    const told = data.object;
    const happening = type.slice('token.order.'.length);
    if (happening === 'created') {
      this.#active(event, told.wallet_id);
      this.#decide(resource.id, told, told.destination?.address ?? nowhere);
    }
    const isFirst = resource.version === 1 && happening !== 'created';
    if (isFirst) this.#asDecided(event, orderEffects);
    this.#ballots.take(event, 'reserve_check');
  }

  /** The decision now, by the log so far. */
  // biome-ignore lint/suspicious/noExplicitAny: intents and orders; each is read by its documented fields.
  #decide(id: string, told: any, address: string): void {
    const { wallet_id: walletId, amount, asset, initiator, metadata } = told;
    const { mode, policy } = this.#settings.get(walletId) ?? { mode: '', policy: null };
    const ownPolicy = this.#named.get(metadata.key as string);
    // Its own intent does not count as an earlier one.
    const own = this.#opened.has(id) ? 1 : 0;
    const decided = this.#controls.decide([policy, ownPolicy].filter((name) => name != null) as string[], address, {
      amount,
      kind: told.kind,
      // No other typed data of this name is taken.
      isAlsoTransfer: told.call !== null || told.message?.typed_data?.primaryType.startsWith('Permit') === true,
      initiator,
      wantsHuman: mode === 'human_required',
      intentsLastHour: (this.#made.get(walletId) ?? 0) - own,
      intentsToDestination: (this.#made.get(`${walletId} ${address}`) ?? 0) - own,
      available: this.ledger.accounts.get(walletId)?.available.get(asset) ?? 0n,
    });
    this.decided.set(id, decided);
  }

  #asDecided({ sequence, type, resource, data }: ToldEvent, names: Readonly<Record<string, string>>): void {
    const decided = this.decided.get(resource.id);
    if (decided === undefined) throw new Finding('events-complete', `${resource.id} has no event of its creation`);
    const { expected, by } = decided;
    const told = data.object;
    const isAsked = expected.effect === 'require_approval';
    const about = `event ${sequence} ${type} of ${resource.id} (${told.amount} ${told.asset})`;
    const wanted = `${JSON.stringify(expected)} by ${by}`;
    if (told.status !== names[expected.effect]) found('decided-as-written', `${about} is not ${wanted}`);
    if (!isAsked && told.approvals_required > 0) found('decided-as-written', `${about} asks for votes, not ${wanted}`);
    if (!isAsked) return;
    const { approvals_required: required, approvers, expires_at: expiresAt, created_at: createdAt } = told;
    const lastsS = (Date.parse(expiresAt) - Date.parse(createdAt)) / 1_000;
    const isSame =
      required === expected.quorum && sameMembers(approvers, expected.approvers) && lastsS === expected.timeoutS;
    if (!isSame)
      found('decided-as-written', `${about} asks for ${required} of [${approvers}] in ${lastsS} s, not ${wanted}`);
  }

  /** While its wallet is not active, nothing begins and nothing is approved. */
  #active({ sequence, type, resource }: ToldEvent, walletId: string): void {
    const status = this.wallets.get(walletId)?.last?.status;
    if (status === 'active') return;
    found('decided-as-written', `event ${sequence} ${type} of ${resource.id}, and its wallet is ${status}`);
  }

  #count(name: string): void {
    this.#made.set(name, (this.#made.get(name) ?? 0) + 1);
  }
}

/** An approved intent that is not signed expires a day after its approval. */
function checkLifetime({ sequence, resource, data }: ToldEvent): void {
  const { expires_at: expiresAt, status_history: history } = data.object;
  const approvedMs = Date.parse(history.at(-1).at);
  // Gateways' clocks may differ, and times of a record never go back.
  const isDay = Math.abs(Date.parse(expiresAt) - approvedMs - approvedLifetimeMs) <= lifetimeSlackMs;
  if (!isDay) found('decided-as-written', `event ${sequence}: ${resource.id}, approved now, expires at ${expiresAt}`);
}

function timelineOf<T>(timelines: Map<string, Timeline<T>>, id: string): Timeline<T> {
  const known = timelines.get(id);
  if (known !== undefined) return known;
  const made = new Timeline<T>();
  timelines.set(id, made);
  return made;
}

function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one) => b.includes(one));
}

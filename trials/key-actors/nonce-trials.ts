/**
 * Trials of the actor of the cluster: nodes come and go, deal nonces rightly, twice, late or malformed, and sessions draw them.
 * Written from docs/protocol.md (section 9), docs/wire.md and docs/signing-path.md. A nonce signs at most once, and only the present
 * process of a node knows it.
 */
import type { LocalMessage } from '../../coordinator/contract/messages.ts';
import { groupOf } from '../../core/crypto/group.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBodyInit } from '../../proto/wire.ts';
import { ActorCopy, framesOf, type SentMessage } from '../../simulation/cluster/actor-copy.ts';
import { StoreAtRest } from '../../simulation/cluster/store-at-rest.ts';
import type { Said } from '../support/key-parties.ts';
import { must, type Trial } from '../support/trial.ts';
import { configOf } from './key-making.ts';

const scheme = Scheme.MOCK_ECDSA;
const nowMs = 1_700_000_000_000;
/** A pending draw's nonces are asked for again after this time at most. */
const recheckMs = 1_000;

interface Dealt {
  readonly number: bigint;
  readonly hiding: Uint8Array;
  readonly binding: Uint8Array;
  readonly mockNonce: Uint8Array;
}

/** A node as the trial plays it. */
interface Dealer {
  boot: string;
  isUp: boolean;
  /** Of its present process: rises. */
  last: bigint;
  /** Requests that it has not answered. */
  asked: { readonly count: number; readonly request: bigint }[];
  /** Dealt by its present process in an answer to a request, and not drawn; by their numbers. */
  readonly good: Map<bigint, Uint8Array>;
  /** The coordinator has a nonce of it: it forgot none since it dealt. */
  isSure: boolean;
  /** It was asked again before it answered: how many nonces count is not known. */
  isRepeated: boolean;
  /** Its last answer, for a repetition. */
  sent: Said | undefined;
}

export function nonceTrial(trial: Trial): void {
  const nonces = new Nonces(trial);
  for (let left = trial.draw.int(12, 24); left > 0; left -= 1) nonces.step();
  nonces.settle();
}

class Nonces {
  readonly #trial: Trial;
  readonly #actor: ActorCopy;
  readonly #nodes = new Map<number, Dealer>();
  /** "node boot number" of every nonce that a session got. */
  readonly #drawn = new Set<string>();
  /** Sessions that wait: the number of nodes that each needs. */
  readonly #waiting = new Map<string, { readonly ticket: number; readonly count: number }>();
  #requests = new Set<bigint>();
  #draws = 0;
  #boots = 0;

  constructor(trial: Trial) {
    this.#trial = trial;
    // Small batches, so that pools run low.
    const config = { ...configOf(trial), nonceBatchFirst: trial.draw.int(1, 4) };
    const store = StoreAtRest.of(config.resumeKey, config.roster.clusterId);
    this.#actor = new ActorCopy({ address: 'cluster', config, store, nowMs, random: trial.random });
    for (let id = 1; id <= Math.min(3, trial.nodesTotal); id += 1) {
      this.#nodes.set(id, {
        boot: '',
        isUp: false,
        last: 0n,
        asked: [],
        good: new Map(),
        isSure: false,
        isRepeated: false,
        sent: undefined,
      });
    }
    for (const id of this.#nodes.keys()) this.#up(id, true);
  }

  get #draw() {
    return this.#trial.draw;
  }

  step(): void {
    const id = this.#draw.pick([...this.#nodes.keys()]);
    const node = this.#nodes.get(id)!;
    switch (
      this.#draw.pick([
        'deal',
        'deal',
        'deal',
        'draw',
        'draw',
        'draw',
        'wrong',
        'again',
        'link',
        'forget',
        'lose',
        'time',
      ])
    ) {
      case 'deal':
        if (node.isUp) this.#deal(id, node);
        break;
      case 'draw':
        this.#ask();
        break;
      case 'wrong':
        if (node.isUp) this.#wrong(id, node);
        break;
      case 'again':
        if (node.isUp && node.sent) this.#again(id, node, node.sent);
        break;
      case 'lose':
        // Its answer is lost: only a repeated request brings another.
        node.asked = [];
        node.isRepeated = true;
        break;
      case 'link':
        if (node.isUp) this.#down(id, node);
        else this.#up(id, this.#draw.chance(0.6));
        break;
      case 'forget':
        this.#forget(id, node);
        break;
      case 'time':
        // Requests before it may no longer count.
        for (const one of this.#nodes.values()) one.isRepeated ||= one.asked.length > 0;
        this.#take(this.#actor.pass(recheckMs));
        break;
    }
  }

  /** Every node is linked and answers: each session that waits gets its nonces. */
  settle(): void {
    for (const [id, node] of this.#nodes) if (!node.isUp) this.#up(id, true);
    for (let round = 0; round < 8 && this.#waiting.size > 0; round += 1) {
      for (const [id, node] of this.#nodes) while (node.asked.length > 0) this.#deal(id, node);
      if (this.#waiting.size > 0) this.#take(this.#actor.pass(recheckMs));
    }
    must(this.#waiting.size === 0, () => 'every node is linked and deals, and a draw gets no nonces');
  }

  #take(sent: readonly SentMessage[]): void {
    const { bugs } = this.#actor;
    must(bugs.length === 0, () => `the actor of the cluster threw: ${bugs.join('; ')}`);
    for (const { to, message } of framesOf(sent)) {
      const { case: kind, value } = message.body as Said;
      if (kind !== 'dealNonces' || value.scheme !== scheme) continue;
      const node = this.#nodes.get(Number(to.split('/')[1]));
      must(node?.isUp === true, () => `${to} is asked for nonces, and is not linked`);
      must(
        !this.#requests.has(value.request) && value.coordinatorBoot === 'coordinator#trial',
        () => 'a request for nonces is repeated',
      );
      this.#requests.add(value.request);
      node.isRepeated ||= node.asked.length > 0;
      node.asked.push({ count: value.count, request: value.request });
    }
    for (const { to, message } of sent) {
      if ('kind' in message && message.kind === 'drawn') this.#got(to, message);
    }
  }

  #got(to: string, { ticket, nonces }: Extract<LocalMessage, { kind: 'drawn' }>): void {
    const wanted = this.#waiting.get(to);
    must(
      wanted?.ticket === ticket && nonces.length === wanted.count,
      () => `${to} gets ${nonces.length} nonces, and waits for ${wanted?.count}`,
    );
    this.#waiting.delete(to);
    must(new Set(nonces.map(({ nodeId }) => nodeId)).size === nonces.length, () => 'a draw has two nonces of one node');
    for (const { nodeId, nodeBoot, number, mockNonce } of nonces) {
      const node = this.#nodes.get(nodeId);
      const name = `${nodeId} ${nodeBoot} ${number}`;
      must(!this.#drawn.has(name), () => `nonce ${number} of node ${nodeId} is drawn twice`);
      this.#drawn.add(name);
      must(
        node?.isUp === true && node.boot === nodeBoot,
        () => `a nonce of node ${nodeId} is drawn that its process does not know`,
      );
      const dealt = node.good.get(number);
      must(
        dealt !== undefined && Buffer.compare(dealt, mockNonce) === 0,
        () => `nonce ${number} of node ${nodeId} is drawn, and the node dealt it not, or not when it was asked`,
      );
      node.good.delete(number);
    }
  }

  #up(id: number, isNew: boolean): void {
    const node = this.#nodes.get(id)!;
    if (isNew || node.boot === '') {
      this.#boots += 1;
      node.boot = `boot-${this.#boots}`;
      node.last = 0n;
      node.sent = undefined;
      node.good.clear();
    }
    node.isUp = true;
    node.isSure = false;
    node.isRepeated = false;
    node.asked = [];
    this.#link('peerUp', id, node.boot);
    must(node.asked.length === 1, () => `node ${id} is linked, and is asked for nonces ${node.asked.length} times`);
  }

  #down(id: number, node: Dealer): void {
    // News of an older link changes nothing.
    if (this.#draw.chance(0.4)) {
      this.#link('peerDown', id, `${node.boot}-before`);
      return;
    }
    node.isUp = false;
    node.asked = [];
    // Its nonces leave with the link: the next one brings new ones.
    node.good.clear();
    this.#link('peerDown', id, node.boot);
  }

  #link(kind: 'peerUp' | 'peerDown', nodeId: number, boot: string): void {
    this.#take(this.#actor.tell({ kind, address: `node/${nodeId}`, role: 'node', nodeId, boot }, 'runtime'));
  }

  #hear(id: number, body: Said): void {
    const message = { tenant: '', session: '', attempt: 0, body: body as WireBodyInit };
    this.#take(this.#actor.tell(message, `node/${id}`));
  }

  #nonces(node: Dealer, count: number): Dealt[] {
    const none = new Uint8Array(0);
    const group = groupOf('secp256k1');
    return Array.from({ length: count }, () => {
      node.last += 1n;
      const mockNonce = group.encodeScalar(BigInt(this.#draw.int(1, 2 ** 31)));
      return { number: node.last, hiding: none, binding: none, mockNonce };
    });
  }

  #deal(id: number, node: Dealer): void {
    const asked = node.asked.shift();
    if (asked === undefined) return;
    // More than it was asked for do not count.
    const more = this.#draw.chance(0.2) ? 3 : 0;
    const nonces = this.#nonces(node, asked.count + more);
    const counted = node.isRepeated ? nonces : nonces.slice(0, asked.count);
    for (const { number, mockNonce } of counted) node.good.set(number, mockNonce);
    node.isSure = !node.isRepeated;
    node.sent = this.#said(node.boot, nonces);
    this.#hear(id, node.sent);
  }

  /** A frame comes twice: what was beyond the first request may count now. */
  #again(id: number, node: Dealer, sent: Said): void {
    node.isRepeated = true;
    for (const { number, mockNonce } of sent.value.nonces as readonly Dealt[]) {
      if (!this.#drawn.has(`${id} ${node.boot} ${number}`)) node.good.set(number, mockNonce);
    }
    this.#hear(id, sent);
  }

  #said(nodeBoot: string, nonces: readonly Dealt[], coordinatorBoot = 'coordinator#trial'): Said {
    return { case: 'noncesDealt', value: { scheme, nodeBoot, coordinatorBoot, nonces } };
  }

  /** Nonces that no session may get. */
  #wrong(id: number, node: Dealer): void {
    const nonces = this.#nonces(node, 2);
    const zero = nonces.map((nonce) => ({ ...nonce, mockNonce: new Uint8Array(32) }));
    const twice = nonces.map((nonce) => ({ ...nonce, mockNonce: nonces[0]!.mockNonce }));
    const said = this.#draw.pick([
      this.#said(`${node.boot}-before`, nonces),
      this.#said(node.boot, nonces, 'coordinator#before'),
      this.#said(node.boot, zero),
      this.#said(node.boot, twice),
    ]);
    this.#hear(id, said);
  }

  #ask(): void {
    this.#draws += 1;
    const session = `trial/${this.#draws}`;
    const candidates = [...this.#nodes.keys()];
    const count = this.#draw.int(1, candidates.length);
    const preferred = this.#draw.chance(0.3) ? [this.#draw.pick(candidates)] : [];
    this.#waiting.set(session, { ticket: this.#draws, count });
    const has = ({ isUp, isSure, good }: Dealer) => isUp && isSure && good.size > 0;
    const isAble = candidates.every((id) => has(this.#nodes.get(id)!));
    const draw = { kind: 'draw', ticket: this.#draws, scheme, count, candidates, preferred } as const;
    this.#take(this.#actor.tell(draw, session));
    if (isAble) {
      must(!this.#waiting.has(session), () => 'every node is linked and has nonces, and a draw waits');
    }
    if (!this.#waiting.has(session) || !this.#draw.chance(0.3)) return;
    this.#take(this.#actor.tell({ kind: 'withdraw' }, session));
    this.#waiting.delete(session);
  }

  /** A session says that the node does not know a nonce: those before it are void too. */
  #forget(id: number, node: Dealer): void {
    const isOld = this.#draw.chance(0.3);
    node.isSure &&= isOld;
    const number = node.last === 0n ? 0n : BigInt(this.#draw.int(1, Number(node.last)));
    if (!isOld) for (const known of [...node.good.keys()]) if (known <= number) node.good.delete(known);
    const nodeBoot = isOld ? `${node.boot}-before` : node.boot;
    this.#take(this.#actor.tell({ kind: 'nonceForgotten', scheme, nodeId: id, nodeBoot, number }, 'trial/forgets'));
  }
}

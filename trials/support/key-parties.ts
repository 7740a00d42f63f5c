/** The nodes of a key generation in a trial, and the requests that an honest coordinator makes. */

import type { WireBodyInit } from '../../proto/wire.ts';
import type { NodeCopy } from '../../simulation/cluster/node-copy.ts';
import { tokenRequestsOf, wireMessagesOf } from '../../simulation/cluster/node-copy.ts';
import { type KeyKind, KeyTranscripts, type Opening, type Result, type Sealed } from './key-transcripts.ts';
import { must, oneAnswer, type Trial, textOf, trialTenant } from './trial.ts';

export interface Said {
  readonly case: string;
  // biome-ignore lint/suspicious/noExplicitAny: the case names the type of the value, which no lookup expresses.
  readonly value: any;
}

/** What changes a request: of its frame, or its address. */
export interface Framing {
  readonly attempt?: number;
  readonly session?: string;
  readonly tenant?: string;
  readonly address?: string;
}

export class KeyParties extends KeyTranscripts {
  readonly session: string;
  readonly kind: KeyKind;
  readonly threshold: number;
  readonly ids: readonly number[];
  readonly copies: readonly NodeCopy[];
  readonly openings = new Map<number, Opening>();
  /** "dealer recipient" */
  readonly boxes = new Map<string, Sealed>();
  readonly results = new Map<number, Result>();
  attempt: number;
  #requests = 0;

  constructor(trial: Trial, kind: KeyKind, session: string) {
    super(trial.identities);
    const { draw, nodesTotal } = trial;
    this.kind = kind;
    this.session = session;
    this.attempt = draw.int(1, 2);
    const isSingle = kind.holder === 'hsm' || kind.holder === 'vendor';
    this.threshold = isSingle ? 1 : 2;
    const all = Array.from({ length: nodesTotal }, (_, index) => index + 1);
    this.ids = draw.some(all, isSingle ? 1 : 2);
    this.copies = this.ids.map((id) => trial.copyOf(id));
  }

  get isShared(): boolean {
    return this.kind.holder === '';
  }

  copy(id: number): NodeCopy {
    return this.copies[this.ids.indexOf(id)]!;
  }

  /** The one answer. */
  ask(id: number, body: { readonly case: string; readonly value: object }, framing: Framing = {}): Said | undefined {
    const copy = this.copy(id);
    this.#requests += 1;
    const value = { ...body.value, ...(body.case !== 'dkgDiscard' && { request: this.#requests }) };
    const message = {
      tenant: framing.tenant ?? trialTenant,
      session: framing.session ?? this.session,
      attempt: framing.attempt ?? this.attempt,
      body: { case: body.case, value } as WireBodyInit,
    };
    copy.writes.length = 0;
    const sent = [...copy.tell(framing.address ?? this.addressOf(id), message)];
    for (const asked of tokenRequestsOf(sent)) sent.push(...copy.tokenAnswers(asked));
    const answer = oneAnswer(copy, wireMessagesOf(sent), body.case) as Said | undefined;
    // A discard has no number.
    const number = body.case === 'dkgDiscard' ? 0 : this.#requests;
    must(
      answer === undefined || answer.value.request === number,
      () => `node ${id} answers request ${number} with the number ${answer?.value.request}`,
    );
    return answer;
  }

  addressOf(id: number): string {
    return `node/${id}/dkg/${trialTenant}/${this.session}`;
  }

  /** It must refuse, with this code, and change nothing. */
  refused(
    id: number,
    body: { readonly case: string; readonly value: object },
    codes: readonly string[],
    what: string,
    framing: Framing = {},
  ): Said {
    const answer = this.ask(id, body, framing);
    must(
      answer?.case === 'dkgRefused' && codes.includes(answer.value.code),
      () => `node ${id} answers ${body.case} (${what}) with ${said(answer)}, and must refuse: ${codes.join(' or ')}`,
    );
    this.unchanged(id, `${body.case} (${what})`);
    return answer;
  }

  /** The answer of this kind. */
  answered(
    id: number,
    body: { readonly case: string; readonly value: object },
    kind: string,
    what: string,
    framing: Framing = {},
  ): Said {
    const answer = this.ask(id, body, framing);
    must(answer?.case === kind, () => `node ${id} answers ${body.case} (${what}) with ${said(answer)}`);
    return answer;
  }

  unchanged(id: number, what: string): void {
    const { writes } = this.copy(id);
    must(writes.length === 0, () => `node ${id} changes its store at ${what}, which changes nothing`);
  }

  /** The phase in its record. */
  phase(id: number): string {
    const record = this.copy(id).record(`dkg/${trialTenant}/${this.session}`);
    return record === undefined ? 'unopened' : (JSON.parse(Buffer.from(record).toString()) as { phase: string }).phase;
  }

  // --- right requests ------------------------------------------------------------------------------------------------

  open(): { case: 'dkgOpen'; value: Record<string, unknown> } {
    const { kind, threshold, ids } = this;
    const value = { curve: kind.curve, threshold, totalNodes: ids.length, scheme: kind.scheme, participants: [...ids] };
    return { case: 'dkgOpen', value };
  }

  /** To dealer `id`: for every other node. */
  seal(id: number): { case: 'dkgSeal'; value: { recipients: Opening[] } } {
    return { case: 'dkgSeal', value: { recipients: this.others(id).map((other) => this.openings.get(other)!) } };
  }

  /** To recipient `id`: the shares of these dealers; of all by default. */
  verify(id: number, dealers: readonly number[] = this.ids) {
    const sealed = dealers.flatMap((dealer) => this.boxes.get(`${dealer} ${id}`) ?? []);
    const value = {
      dealers: dealers.map((dealer) => this.openings.get(dealer)!),
      sealed,
      clientSupplied: [] as object[],
    };
    return { case: 'dkgVerify' as const, value };
  }

  confirm(): { case: 'dkgConfirm'; value: { results: Result[] } } {
    return { case: 'dkgConfirm', value: { results: this.ids.map((id) => this.results.get(id)!) } };
  }

  others(id: number): number[] {
    return this.ids.filter((other) => other !== id);
  }

  protected openingOf(dealer: number): Opening {
    return this.openings.get(dealer)!;
  }
}

export function said(answer: Said | undefined): string {
  if (answer === undefined) return 'silence';
  return answer.case === 'dkgRefused' ? `the refusal ${answer.value.code}` : answer.case;
}

/** Two answers, but for the numbers of their requests. */
export function isSameAnswer(one: Said, other: Said): boolean {
  const content = ({ case: kind, value }: Said) => textOf([kind, { ...value, request: 0 }]);
  return content(one) === content(other);
}

/** Calls of the signing API as steps of a saved scenario: sessions become names, answers become expectations. Pure. */
import type { ConsoleRequest } from '../shared/console-requests.ts';
import type { FoundOperation, SavedDraft, SavedFile } from './saved-operations.ts';

export interface SessionFact {
  readonly state: 'open' | 'completed' | 'failed';
  readonly culprits: readonly number[];
  /** Of a key. */
  readonly curve?: string | null;
}

interface Answer {
  readonly signing_session_id?: string;
  readonly verified?: boolean;
  readonly is_complete?: boolean;
  readonly receipt?: { readonly state: string; readonly reason_code: string } | null;
}

interface Asked {
  readonly session_id?: string;
  readonly signing_session_id?: string;
  readonly wallet_id?: string;
  readonly threshold?: number;
  readonly total_nodes?: number;
  readonly derivation?: { readonly curve?: string } | null;
  readonly sender_node_id?: number;
  readonly recipient_node_id?: number;
  readonly node_id?: number;
}

/** What the page itself sends; a step says no other field. */
const sayable = new Set([
  ...['session_id', 'signing_session_id', 'wallet_id', 'transaction_intent_id', 'message_hash', 'threshold'],
  ...['total_nodes', 'derivation', 'sender_node_id', 'recipient_node_id', 'node_id', 'resume_token', 'context'],
]);
/** What a call without a receipt comes to, by its status. */
const errors: Readonly<Record<number, string>> = {
  429: 'OVERLOADED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

export class SavedSessions {
  readonly #file: SavedFile;
  readonly #fact: (id: string) => SessionFact | undefined;
  /** Names by real id. */
  readonly #names = new Map<string, string>();
  /** Nodes of signing sessions that were asked, as `session node`; 0: all. */
  readonly #asked = new Set<string>();

  /** Sessions with several attempts: a scenario counts the blamed nodes of all, the page knows those of the last. */
  readonly #resumed = new Set<string>();

  constructor(file: SavedFile, fact: (id: string) => SessionFact | undefined) {
    this.#file = file;
    this.#fact = fact;
  }

  /** undefined: no step makes it. */
  nameOf(id: string): string | undefined {
    return this.#names.get(id);
  }

  /** Empty: it is written; otherwise why it is not. */
  write({ name }: FoundOperation, request: ConsoleRequest): string {
    const asked = (request.body ?? {}) as Asked;
    const other = Object.keys(asked).find((field) => !sayable.has(field));
    if (other !== undefined) return `the field ${other} has no place in a step`;
    const expect = expected(request);
    if (expect === undefined) return `it was refused with ${request.status}`;
    if (expect.reason_code === 'INVALID_REQUEST') return 'the service found it invalid';
    const draft = this.#draft(name, asked, request.answer as Answer | undefined);
    if (typeof draft === 'string') return draft;
    this.#file.put(String(draft.call).replaceAll('_', '-'), {
      ...draft,
      ...(request.isRepeated && { insist: true }),
      expect,
    });
    return '';
  }

  /** What the sessions have come to. */
  ends(): readonly object[] {
    return [...this.#names].flatMap(([id, session]) => {
      const { state, culprits = [] } = this.#fact(id) ?? {};
      const end = {
        ...(state === 'completed' && { state: 'BACKEND_COMPLETED' }),
        ...(culprits.length > 0 && !this.#resumed.has(session) && { culprits }),
      };
      return Object.keys(end).length === 0 ? [] : [{ session, ...end }];
    });
  }

  #draft(name: string, asked: Asked, answer: Answer | undefined): SavedDraft | string {
    const id = asked.session_id ?? asked.signing_session_id ?? '';
    const session = this.#names.get(id);
    switch (name) {
      case 'signing.initiateDkg': {
        const { threshold = 0, total_nodes: totalNodes = 0, derivation } = asked;
        return {
          ...{ call: 'initiate_dkg', session: session ?? this.#name(id, 'key') },
          ...(threshold > 0 && { threshold }),
          ...(totalNodes > 0 && { total_nodes: totalNodes }),
          ...(derivation?.curve === 'ed25519' && { curve: 'ed25519' }),
        };
      }
      case 'signing.initiateSigning':
        return this.#signing(asked.wallet_id ?? '', answer?.signing_session_id ?? '');
      default:
    }
    if (session === undefined) return `the session ${id} was not made by this page`;
    if (name === 'signing.resumeSession') {
      this.#resumed.add(session);
      return { call: 'resume_session', session };
    }
    if (name === 'signing.exchangeDkgShares') {
      const { sender_node_id: sender = 0, recipient_node_id: recipient = 0 } = asked;
      return {
        ...{ call: 'exchange_dkg_shares', session },
        ...(sender > 0 && { sender }),
        ...(recipient > 0 && { recipient }),
      };
    }
    const { node_id: node = 0 } = asked;
    if (node === 0) this.#askBlamed(id, session);
    this.#asked.add(`${session} ${node}`);
    return { call: 'submit_signature_share', session, ...(node > 0 && { node }) };
  }

  #signing(keyId: string, id: string): SavedDraft | string {
    if (keyId.startsWith('wal_')) return 'it signs with the key of a wallet';
    let key = this.#names.get(keyId);
    if (key === undefined) {
      this.#file.say('This key existed before.');
      key = this.#name(keyId, 'key');
      const isEd25519 = this.#fact(keyId)?.curve === 'ed25519';
      this.#file.put('make-key', { call: 'make_key', session: key, ...(isEd25519 && { curve: 'ed25519' }) });
    }
    return { call: 'initiate_signing', key, session: this.#name(id, 'signature') };
  }

  /** The coordinator chooses the signers anew: a node takes part for certain when it is named. */
  #askBlamed(id: string, session: string): void {
    // Its first call alone had the choice.
    if (this.#asked.has(`${session} 0`)) return;
    for (const node of this.#fact(id)?.culprits ?? []) {
      if (this.#asked.has(`${session} ${node}`)) continue;
      this.#file.say(`Node ${node} signed, and was blamed: it is asked by its name, so that it signs again.`);
      this.#file.put('submit-signature-share', { call: 'submit_signature_share', session, node });
    }
  }

  #name(id: string, kind: string): string {
    const name = `${kind}-${this.#names.size + 1}`;
    this.#names.set(id === '' ? name : id, name);
    return name;
  }
}

/** undefined: no step can expect it. */
function expected({ status, answer }: ConsoleRequest): (SavedDraft & { readonly reason_code?: string }) | undefined {
  if (status === undefined) return { error: 'any' };
  if (errors[status] !== undefined) return { error: errors[status] };
  const { receipt, verified, is_complete: isComplete } = (answer ?? {}) as Answer;
  if (status !== 200 || !receipt) return undefined;
  return {
    state: receipt.state.replace('RECEIPT_STATE_', ''),
    reason_code: receipt.reason_code,
    ...(verified !== undefined && { verified }),
    ...(isComplete !== undefined && { is_complete: isComplete }),
  };
}

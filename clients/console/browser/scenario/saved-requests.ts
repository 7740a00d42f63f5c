/** Calls of the wallet API as steps of a saved scenario: ids that an answer told become references to its step. Pure. */
import type { ConsoleRequest } from '../shared/console-requests.ts';
import type { FoundOperation, SavedDraft, SavedFile } from './saved-operations.ts';

/** Intents in these go on by themselves: how long differs from world to world. */
const passing = new Set(['created', 'screening', 'approved', 'signing', 'broadcasting', 'confirming']);
/** An id that the service made. */
const madeId = /^[a-z]{2,6}_[0-9a-f]{8}-[0-9a-f-]{27}$/;

interface SavedIntent {
  readonly params: Readonly<Record<string, string>>;
  readonly by: SavedDraft;
}

export class SavedRequests {
  readonly #file: SavedFile;
  readonly #own: ConsoleRequest['by'];
  /** References by the values of answers. */
  readonly #references = new Map<string, string>();
  readonly #intents = new Map<string, SavedIntent>();
  /** Names of people and of other tenants. */
  readonly #people: string[] = [];
  readonly #tenants: string[] = [];
  /** Keys of more than one request. */
  readonly #sharedKeys: readonly string[];

  constructor(file: SavedFile, ownRequests: readonly ConsoleRequest[], own: ConsoleRequest['by']) {
    this.#file = file;
    this.#own = own;
    const keys = ownRequests.flatMap(({ key }) => (key === undefined ? [] : [key]));
    this.#sharedKeys = [...new Set(keys.filter((key, index) => keys.indexOf(key) !== index))];
  }

  /** Empty: it is written; otherwise why it is not. */
  write({ name, params, query }: FoundOperation, request: ConsoleRequest): string {
    const { status, answer, isRepeated } = request;
    if (name.startsWith('service.')) return 'a scenario has no such step';
    if (status === undefined) return 'it had no answer';
    if (status === 401 || status === 403) return `its token may not do it (${status})`;
    const by = this.#by(request);
    if (name === 'wallets.create') this.#connect(request, by);
    const unknown = Object.values(params).find((id) => madeId.test(id) && !this.#references.has(id));
    if (unknown !== undefined && status !== 404) return `${unknown} was not made by this page`;
    const said = { params: this.#said(params) as Readonly<Record<string, string>>, by };
    if (name === 'intents.approve' && status < 300) this.#await(said, 'pending_approval');
    const isWrong = status === 400 || status === 422;
    const { code } = (answer as { readonly error?: { readonly code?: string } } | undefined)?.error ?? {};
    const body = request.body !== undefined && (Object.keys(request.body as object).length > 0 || isWrong);
    const isInbox = name === 'sandbox.createInbox';
    const shared = request.key === undefined ? -1 : this.#sharedKeys.indexOf(request.key);
    const step = this.#file.put(isInbox ? 'inbox' : name.replace('.', '-').toLowerCase(), {
      ...(isInbox ? { call: 'register_webhook' } : { api: name }),
      ...(Object.keys(params).length > 0 && { params: said.params }),
      ...(Object.keys(query).length > 0 && { query: this.#said(query) }),
      ...(!isInbox && body && { body: this.#said(request.body) }),
      ...(isWrong && { unchecked: true }),
      ...(shared !== -1 && { key: `key-${shared + 1}` }),
      ...by,
      ...(isRepeated && { insist: true }),
      ...(status >= 300 && { expect: { http: status, ...(code !== undefined && { code }) } }),
    });
    if (status < 300) this.#learn(name, step, said, answer);
    return '';
  }

  /** The intents that this page made have come to the same. `statuses`: by id. */
  finals(statuses: ReadonlyMap<string, string>): void {
    for (const [id, intent] of this.#intents) {
      const status = statuses.get(id) ?? 'created';
      if (!passing.has(status)) this.#await(intent, status);
    }
  }

  #await({ params, by }: SavedIntent, status: string): void {
    this.#file.put('intents-get', { api: 'intents.get', params, ...by, until: { status } });
  }

  /** A wallet may be over a connection that was there. */
  #connect({ body }: ConsoleRequest, by: SavedDraft): void {
    const { provider_connection_id: id = '' } = (body ?? {}) as { readonly provider_connection_id?: string };
    if (!madeId.test(id) || this.#references.has(id)) return;
    this.#file.say('This connection existed before.');
    const made = { provider: 'self_hosted', name: 'Our cluster', credentials: {} };
    const step = this.#file.put('connections-create', { api: 'connections.create', body: made, ...by });
    this.#references.set(id, `$${step}.id`);
  }

  #learn(name: string, step: string, { params, by }: SavedIntent, answer: unknown): void {
    const { id, addresses } = (answer ?? {}) as {
      readonly id?: string;
      readonly addresses?: readonly { address: string }[];
    };
    if (typeof id !== 'string' || this.#references.has(id)) return;
    this.#references.set(id, `$${step}.id`);
    if (name === 'wallets.create' && addresses?.[0] !== undefined)
      this.#references.set(addresses[0].address, `$${step}.addresses.0.address`);
    if (name === 'intents.create') this.#intents.set(id, { params: { id: params.id ?? '', txId: `$${step}.id` }, by });
  }

  #said(value: unknown): unknown {
    if (typeof value === 'string') return this.#references.get(value) ?? value;
    if (Array.isArray(value)) return value.map((one) => this.#said(one));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, this.#said(one)]));
  }

  /** Nothing for the page's own. */
  #by({ by }: ConsoleRequest): SavedDraft {
    const own = this.#own;
    if (by === undefined || own === undefined || by.actor === own.actor) return {};
    const person = `person-${placeIn(this.#people, by.actor)}`;
    return { by: by.tenant === own.tenant ? person : `${person}@tenant-${placeIn(this.#tenants, by.tenant)}` };
  }
}

/** From 1. */
function placeIn(list: string[], one: string): number {
  if (!list.includes(one)) list.push(one);
  return list.indexOf(one) + 1;
}

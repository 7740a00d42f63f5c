/** A small resource for tests of the toolkit: notes that count their runs, wait at a gate, and fail on demand. */
import Type from 'typebox';
import { eventOf } from '../../../../gateway/api/event.ts';
import { listBody, readPage } from '../../../../gateway/api/pages.ts';
import { type Answer, type RequestContext, type Route, route } from '../../../../gateway/api/route.ts';
import { Closed, ListOf, PathId, pageQuery } from '../../../../gateway/api/schema-kit.ts';
import { noSuch } from '../../../../gateway/api/visibility.ts';
import { create, update } from '../../../../wallets/store/changes.ts';
import type { RecordType, Versioned } from '../../../../wallets/store/contract.ts';

export interface NoteRecord extends Versioned {
  readonly text: string;
  readonly bumps: number;
}

export const noteType: RecordType<NoteRecord> = { name: 'note', status: () => '', indices: () => ['notes'] };

const Note = Closed({ id: Type.String(), text: Type.String(), bumps: Type.Integer() }, { title: 'Note' });
const noteView = ({ id, text, bumps }: NoteRecord) => ({ id, text, bumps });

export interface Notes {
  readonly routes: readonly Route[];
  /** Ids that handlers made, run by run. */
  readonly made: string[];
  /** When they made them. */
  readonly clock: number[];
  /** What the next runs of a handler do first, in turn. */
  readonly before: (() => Promise<void> | void)[];
  committed: number;
}

export function notes(): Notes {
  const room: Notes = { routes: [], made: [], clock: [], before: [], committed: 0 };
  const params = Closed({ id: PathId('note id') });
  const read = async ({ tenant, store }: RequestContext, id: string): Promise<NoteRecord> => {
    const found = id.startsWith('wal_') ? await store.read(tenant, noteType, id) : undefined;
    if (found === undefined) throw noSuch('note');
    return found;
  };
  const write = async (context: RequestContext, text: string): Promise<Answer> => {
    const id = context.newId('wal');
    room.made.push(id);
    room.clock.push(context.nowMs);
    await room.before.shift()?.();
    const record: NoteRecord = { id, version: 1, text, bumps: 0 };
    const event = eventOf(context, {
      type: 'wallet.created',
      resource: 'note',
      record,
      object: noteView(record),
      ...(text.startsWith('pcn_') ? { connectionId: text } : {}),
    });
    return {
      status: 201,
      body: noteView(record),
      headers: { location: `/v1/notes/${id}` },
      change: { puts: [create(noteType, record)], events: [event] },
      afterCommit: () => {
        room.committed += 1;
      },
    };
  };
  const body = Closed({
    text: Type.String({ maxLength: 100 }),
    idempotency_key: Type.Optional(Type.String({ maxLength: 300 })),
  });
  const routes: Route[] = [
    route({
      method: 'POST',
      path: '/v1/notes',
      operationId: 'createNote',
      tag: 'Notes',
      summary: 'Write a note',
      scope: 'wallets:write',
      query: Closed({ dry_run: Type.Optional(Type.String({ pattern: '^(true|false)$' })) }),
      body,
      idempotencyField: 'idempotency_key',
      isReadOnly: ({ query }) => query.dry_run === 'true',
      responses: { 201: { description: 'The note', schema: Note }, 200: { description: 'A dry run', schema: Note } },
      errors: [409, 422],
      handle: async (context, { body: { text }, query }) => {
        if (query.dry_run === 'true') return { status: 200, body: { id: context.newId('wal'), text, bumps: 0 } };
        return write(context, text);
      },
    }),
    route({
      method: 'GET',
      path: '/v1/notes',
      operationId: 'listNotes',
      tag: 'Notes',
      summary: 'List notes',
      scope: 'wallets:read',
      query: Closed({ ...pageQuery, q: Type.Optional(Type.String({ maxLength: 10 })) }),
      responses: { 200: { description: 'A page', schema: ListOf('notes', Note) } },
      handle: async (context, { query }) => {
        const { tenant, store } = context;
        const request = readPage(context, 'notes', query);
        const page = await store.list(tenant, noteType, { indices: ['notes'], order: 'newest', ...request.query });
        return { status: 200, body: listBody('notes', page, noteView, request) };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/notes/:id',
      operationId: 'getNote',
      tag: 'Notes',
      summary: 'Read a note',
      scope: 'wallets:read',
      params,
      responses: { 200: { description: 'The note', schema: Note } },
      handle: async (context, input) => ({ status: 200, body: noteView(await read(context, input.params.id)) }),
    }),
    route({
      method: 'POST',
      path: '/v1/notes/:id/bump',
      operationId: 'bumpNote',
      tag: 'Notes',
      summary: 'Count one more',
      scope: 'wallets:write',
      params,
      responses: { 200: { description: 'The note', schema: Note } },
      handle: async (context, input) => {
        const before = await read(context, input.params.id);
        room.made.push(context.newId('txi'));
        await room.before.shift()?.();
        const after = { ...before, version: before.version + 1, bumps: before.bumps + 1 };
        return { status: 200, body: noteView(after), change: { puts: [update(noteType, before, after)] } };
      },
    }),
  ];
  return Object.assign(room, { routes });
}

/**
 * Refusals of fields: wrong variants of every example body. Each message ends with the first of the listed fields, in one form, which
 * `signmesh/client` relies on when it lists them all, and no field is named twice.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../../core/actors/live/ports.ts';
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import type { FieldIssue } from '../../../gateway/api/errors/service-error.ts';
import { exampleIds } from '../../../gateway/api/examples.ts';
import { plannedModules } from '../../../gateway/api/modules.ts';
import { newToken } from '../../../gateway/auth/token-format.ts';
import { FakeControl, FakeSessions } from '../../support/fake-control.ts';
import { startWalletService, type WalletService } from '../../support/wallet-service.ts';
import { bodyExamples } from './support/body-examples.ts';

const token = newToken('sandbox', systemRandom);
const wrongValues: readonly unknown[] = ['nope nope', -1, '9'.repeat(40)];

type Path = readonly (string | number)[];

/** Every part of a body in turn: absent, wrong, or with a stranger beside it. */
function* wrongVariants(whole: unknown, part: unknown = whole, path: Path = []): Generator<unknown> {
  for (const wrong of wrongValues) yield replaced(whole, path, wrong);
  if (typeof part !== 'object' || part === null) return;
  for (const [name, inner] of Object.entries(part)) {
    yield replaced(whole, [...path, name], undefined);
    yield* wrongVariants(whole, inner, [...path, name]);
  }
  if (!Array.isArray(part)) yield replaced(whole, [...path, 'stranger'], 1);
}

function replaced(whole: unknown, [name, ...rest]: Path, value: unknown): unknown {
  if (name === undefined) return value;
  const copy = (Array.isArray(whole) ? [...whole] : { ...(whole as object) }) as Record<string | number, unknown>;
  copy[name] = replaced(copy[name], rest, value);
  return copy;
}

let service: WalletService;
let ids: readonly (readonly [string, string])[];

beforeAll(async () => {
  service = await startWalletService({ control: new FakeControl(), sessions: new FakeSessions() });
  service.tokens.put(token, { tenant: 'tn_admin', id: 'tok_admin' });
  const made = async (path: string, body: object) => {
    const answer = await service.call('POST', path, { token, body });
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body.id as string;
  };
  for (const module of plannedModules) await made(`/v1/modules/${module}/access-requests`, {});
  const connection = await made('/v1/provider-connections', bodyExamples.createProviderConnection!);
  const network = 'eip155:11155111';
  const wallet = await made('/v1/wallets', { name: 'one', provider_connection_id: connection, network });
  ids = [
    [exampleIds.connection, connection],
    [exampleIds.wallet, wallet],
  ];
});
afterAll(() => service?.stop());

describe('a refusal of fields', () => {
  it('has one form: what is not valid, the first field and its issue, and how many more', () => {
    const amount = { field: 'amount', issue: 'too_large' };
    expect(invalidFields([amount])).toMatchObject({
      kind: 'invalidRequest',
      message: 'the request is not valid: amount: too_large',
      details: [amount],
    });
    const two = invalidFields([{ field: '', issue: 'wrong_type' }, amount], 'the transfer');
    expect(two.message).toBe('the transfer is not valid: the transfer: wrong_type, and 1 more');
    expect(invalidFields([{ ...amount, field: 'x'.repeat(101) }]).message).toContain(`: ${'x'.repeat(100)}: too_large`);
  });

  it('has that form for every operation, and names no field twice', async () => {
    const wrong = new Set<string>();
    let refusals = 0;
    for (const { operationId, method, path } of service.api.routes) {
      const example = bodyExamples[operationId];
      if (example === undefined) continue;
      const text = ids.reduce((json, [from, to]) => json.replaceAll(from, to), JSON.stringify(example));
      const url = path.replace(':walletId', ids[1]![1]).replace(/:\w+/g, 'none');
      for (const body of wrongVariants(JSON.parse(text))) {
        const answer = await service.call(method, url, { token, body });
        const { message = '', details } = (answer.body?.error ?? {}) as {
          readonly message?: string;
          readonly details?: readonly FieldIssue[];
        };
        if (answer.status !== 400 || details === undefined) continue;
        refusals += 1;
        if (!isInForm(message, details)) wrong.add(`${operationId}: ${message}: ${JSON.stringify(details[0])}`);
      }
    }
    expect([...wrong]).toEqual([]);
    expect(refusals).toBeGreaterThan(200);
  });
});

function isInForm(message: string, details: readonly FieldIssue[]): boolean {
  const [{ field, issue, message: why = '' }] = details as readonly [FieldIssue];
  // Bodies that are no object at all, and refusals with a sentence of their own, name no field.
  const named = message.split(': ').filter((part) => part === field).length;
  if (field === '' || named === 0) return details.every((each) => !(each.message ?? '').startsWith(`${each.field} `));
  const first = issue === 'invalid_base64' ? `: ${field}: ${issue}: ${why}` : `: ${field}: ${issue}`;
  const ends = [first, `${first}, and ${details.length - 1} more`];
  return named === 1 && ends.some((end) => message.endsWith(end));
}

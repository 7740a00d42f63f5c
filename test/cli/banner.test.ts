/** What the banner says of keys: it warns of the public ones that it shows, and of none that it does not show. */
import { expect, test } from 'vitest';
import { bannerLines, type ReadyLineFacts } from '../../cli/start/banner.ts';

const plain = (text: string) => text;
const ready: ReadyLineFacts = {
  event: 'ready',
  http: 'http://127.0.0.1:8080',
  grpc: '127.0.0.1:50051',
  token: null,
  approver_token: null,
  keys: [],
  secret_seed: false,
  data_dir: '/data',
  took_ms: 1,
  clusters: [],
  gateways: [],
  bytes_per_node: null,
  pids: {},
};
const key = { wallet_id: 'k', curve: 'ed25519', scheme: 'frost_ed25519', public_key: '00', addresses: {} } as const;
const banner = (over: Partial<ReadyLineFacts>) =>
  bannerLines({ ...ready, ...over }, 'Ctrl-C', { dim: plain, bold: plain, yellow: plain } as never).join('\n');

test('a production cluster has no ready-made keys, and its banner says nothing of their seed', () => {
  expect(banner({})).toContain('Never guard real funds');
  expect(banner({})).not.toContain('seed');
});

test('keys of the public seed are shown with a warning, those of a secret one without', () => {
  expect(banner({ keys: [key] })).toContain('The keys above come from a public seed');
  expect(banner({ keys: [key], secret_seed: true })).not.toContain('seed');
});

test('chaos is shown with its seed, each fault, and what is not here', () => {
  const faults = [
    { id: 'chaos-1', text: 'Redis is unreachable for 100 ms' },
    { id: 'chaos-2', text: 'x', missing: 'it is simulated only' },
  ];
  const shown = banner({
    chaos: { profile: 'stormy', seed: '7', about: 'processes crash', faults, file: '/data/c.yaml' },
  });
  expect(shown).toMatch(
    /chaos +stormy \(--chaos-seed 7\): processes crash\n +chaos-1 +Redis is unreachable for 100 ms\n/,
  );
  expect(shown).toMatch(/chaos-2 +not here: it is simulated only\n +as a scenario +\/data\/c\.yaml/);
  expect(banner({})).not.toContain('chaos');
});

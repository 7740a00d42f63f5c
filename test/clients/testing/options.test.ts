/** Errors of `signmesh/testing` that name a wrong option, and an address where no sandbox runs. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ApiError, cluster } from '../../../clients/testing/index.ts';
import { needNode, nodeNeeded } from '../../../clients/testing/node-version.ts';

describe('the address of a sandbox that does not run', () => {
  const remedy = 'start one with `npx signmesh up` and pass the address and the token of its banner';

  test('is named, with the remedy', async () => {
    // A port that was free a moment ago.
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const live = `http://127.0.0.1:${port}`;
    const error: unknown = await cluster({ live, token: 'svc_sk_test_x' }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ApiError);
    const said = `no sandbox answers at ${live} (GET /v1/sandbox/nodes: connect ECONNREFUSED 127.0.0.1:${port}): ${remedy}`;
    expect((error as Error).message).toContain(said);
  });

  test('is named too where another server answers', async () => {
    const server = createServer((_, response) => response.end('<html>'));
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const live = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(cluster({ live, token: 'svc_sk_test_x' })).rejects.toThrow(
      `the server at ${live} is no signmesh sandbox: ${remedy}`,
    );
  });
});

describe('an older Node.js', () => {
  test.each(['18.20.8', '20.18.3', '12.0.0'])('%s is refused by a sentence', (version) => {
    expect(() => needNode(version)).toThrow(`signmesh/testing needs Node.js 20.19 or newer; this is ${version}`);
  });

  test.each(['20.19.0', '22.0.0', '24.1.0'])('%s is none', (version) => {
    expect(() => needNode(version)).not.toThrow();
  });

  test('rejects before anything is loaded', async () => {
    const { node } = process.versions;
    const told = (version: string) => Object.defineProperty(process.versions, 'node', { value: version });
    told('18.20.8');
    onTestFinished(() => void told(node));
    await expect(cluster()).rejects.toThrow('signmesh/testing needs Node.js 20.19 or newer; this is 18.20.8');
  });

  test('is that of package.json and of the command', () => {
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
    expect(engines.node).toBe(`>=${nodeNeeded.join('.')}`);
    expect(readFileSync('cli/signmesh.mjs', 'utf8')).toContain(`const nodeNeeded = [${nodeNeeded.join(', ')}];`);
  });
});

test('methods refuse options that do not exist', async () => {
  const custody = await cluster({ nodes: 3 });
  onTestFinished(() => custody.stop());
  const key = await custody.makeKey({ threshold: 2, totalNodes: 3 });
  const intent = { id: 'txi_1', wallet_id: 'wlt_1' };
  const hook = await custody.webhooks.open();
  const wrong = { total_nodes: 3 } as never;
  const calls: Record<string, () => Promise<unknown>> = {
    makeKey: () => custody.makeKey(wrong),
    sign: () => custody.sign(key, 'pay', wrong),
    issueToken: () => custody.issueToken(wrong),
    waitFor: () => custody.waitFor(intent, wrong),
    approve: () => custody.approve(intent, wrong),
    reject: () => custody.reject(intent, wrong),
    'events.next': () => custody.events.next('*', wrong),
    'webhooks.open': () => custody.webhooks.open(wrong),
    next: () => hook.next('*', wrong),
  };
  for (const [name, call] of Object.entries(calls)) {
    await expect(call(), name).rejects.toThrow(`${name} has no option total_nodes; one of `);
  }
  await expect(custody.makeKey(7 as never)).rejects.toThrow(/^the options of makeKey must be an object with session/);
});

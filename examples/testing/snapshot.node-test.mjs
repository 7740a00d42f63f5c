/** The same library with node:test: `node --test examples/testing/snapshot.node-test.mjs`. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { cluster } from 'signmesh/testing';

let custody;
before(async () => {
  custody = await cluster();
});
after(() => custody.stop());

test('an intent is signed once, however often a client asks', async () => {
  const key = await custody.makeKey();
  await custody.sign(key, 'pay 5 to alice', { intent: 'invoice-7' });
  await assert.rejects(custody.sign(key, 'pay 5 to alice', { intent: 'invoice-7' }), /DUPLICATE_INTENT/);
});

test('a snapshot brings back what was there', async () => {
  const key = await custody.makeKey();
  const snapshot = await custody.takeSnapshot();
  const { sessionId } = await custody.sign(key, 'pay 5 to bob');

  await custody.restoreSnapshot(snapshot);

  assert.equal(await custody.session(sessionId), undefined);
  const again = await custody.sign(key, 'pay 5 to bob');
  assert.equal(again.signature.length, 64);
});

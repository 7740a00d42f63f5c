/** Expect: 100-continue (RFC 9110 §10.1.1): a caller is asked for its body only when it was admitted. */

import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { openGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

async function opened() {
  const gateway = await openGateway({ acceptAnyTestToken: false });
  onTestFinished(() => gateway.stop());
  gateway.tokens.put('svc_sk_test_right00000000', {});
  await gateway.http.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect((gateway.http.server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let heard = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    heard += text;
  });
  let isClosed = false;
  socket.on('close', () => {
    isClosed = true;
  });
  const send = (token: string, body: string) =>
    socket.write(
      `POST /v1/signing/initiate HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
  return { socket, send, heard: () => heard, isClosed: () => isClosed };
}

it('a bad token gets 401 at once, without 100, and the connection ends', async () => {
  const { send, heard, isClosed } = await opened();
  send('svc_sk_test_wrong00000000', '{}');
  await until(isClosed, 'the end of the connection');
  expect(heard()).toMatch(/^HTTP\/1\.1 401 /);
  expect(heard()).not.toContain('100 Continue');
});

it('an admitted caller is asked for its body, and gets its answer', async () => {
  const { socket, send, heard } = await opened();
  const body = '{"wallet_id": 5}';
  send('svc_sk_test_right00000000', body);
  await until(() => heard().startsWith('HTTP/1.1 100 Continue\r\n\r\n'), 'the request for the body');
  socket.write(body);
  await until(() => heard().includes('HTTP/1.1 400 '), 'the answer');
});

/** A WebSocket server that echoes every message, as a process: the floor under the links (websocket.ts). It ends when its parent does. */
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';

const server: WebSocketServer = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false }, () =>
  process.send?.((server.address() as AddressInfo).port),
);
server.on('connection', (ws) => ws.on('message', (data: Buffer) => ws.send(data, { binary: true })));
process.once('disconnect', () => process.exit());

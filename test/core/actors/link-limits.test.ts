/** The limits of one link, at their exact values: a socket that records, and the time of vitest. */
import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { type Envelope, noTrace } from '../../../core/actors/contract.ts';
import { defaultLinkLimits, Link, type LinkLimits } from '../../../core/actors/live/link.ts';
import type { FrameCodec } from '../../../core/actors/live/wire-port.ts';
import { collectLog } from '../../support/log.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A frame is the text of its message; a WebSocket message, frames separated by commas; the sender is before the colon. */
const codec: FrameCodec<string> = {
  encodeFrame: ({ message }) => {
    if (message === 'unencodable') throw new Error('no such message');
    return Buffer.from(message);
  },
  decodeFrames: (bytes) =>
    Buffer.from(bytes)
      .toString()
      .split(',')
      .map((text) => {
        const [from, message] = text.split(':');
        if (message === undefined) throw new Error('malformed');
        return { from: from!, to: 'coordinator', message, trace: noTrace };
      }),
};

class RecordingSocket extends EventEmitter {
  readonly CLOSED = 3;
  readyState = 1;
  bufferedAmount = 0;
  readonly sent: string[] = [];
  pings = 0;
  readonly ends: unknown[] = [];
  readonly reads: string[] = [];
  pause(): void {
    this.reads.push('pause');
  }
  resume(): void {
    this.reads.push('resume');
  }
  send(bytes: Uint8Array): void {
    this.sent.push(Buffer.from(bytes).toString());
  }
  ping(): void {
    this.pings += 1;
  }
  close(...how: unknown[]): void {
    this.ends.push(['close', ...how]);
  }
  terminate(): void {
    this.ends.push('terminate');
    this.readyState = this.CLOSED;
    this.emit('close', 1006);
  }
}

function open(limits: Partial<LinkLimits> = {}) {
  const socket = new RecordingSocket();
  const received: Envelope<string>[] = [];
  const down: string[] = [];
  const unasked: (readonly [frames: number, bytes: number])[] = [];
  const { log, lines } = collectLog();
  const link = new Link<string>(socket as unknown as WebSocket, {
    peer: 'node/1',
    codec,
    limits: { ...defaultLinkLimits, ...limits },
    log,
    maySpeakFor: (from) => from === 'node/1',
    onEnvelope: (envelope) => received.push(envelope) > 0 && envelope.message !== 'unasked',
    onUnasked: (...cost) => unasked.push(cost),
    onDown: (why) => down.push(why),
  });
  const send = (message: string) => link.send({ from: 'coordinator', to: 'node/1', message, trace: noTrace });
  const receive = (text: string) => socket.emit('message', Buffer.from(text), true);
  return { socket, link, send, receive, received, unasked, down, lines };
}

describe('a link', () => {
  it('pings every heartbeat, and is cut at the one after the last that may stay without an answer', () => {
    const { socket, link, down } = open({ heartbeatMs: 100, heartbeatsMissedMax: 3 });
    vi.advanceTimersByTime(399);
    expect([socket.pings, link.isUp]).toEqual([3, true]);
    vi.advanceTimersByTime(1);
    expect([socket.pings, link.isUp, down]).toEqual([3, false, ['no sign of life']]);
    expect(socket.ends).toEqual(['terminate']);
    vi.advanceTimersByTime(1_000);
    expect([socket.pings, vi.getTimerCount()]).toEqual([3, 0]);
  });

  it.each(['pong', 'ping', 'message'])('lives on by any sign of the peer: a %s', (sign) => {
    const { socket, link, receive } = open({ heartbeatMs: 100, heartbeatsMissedMax: 2 });
    for (let round = 0; round < 5; round += 1) {
      vi.advanceTimersByTime(200);
      if (sign === 'message') receive('node/1:x');
      else socket.emit(sign);
    }
    expect(link.isUp).toBe(true);
    vi.advanceTimersByTime(300);
    expect(link.isUp).toBe(false);
  });

  it('takes a frame as large as a message, and none that is larger', () => {
    const { send, socket } = open({ messageBytesMax: 10 });
    expect(send('x'.repeat(10))).toBeUndefined();
    expect(send('x'.repeat(11))).toBe('linkFull');
    vi.runAllTicks();
    vi.advanceTimersToNextTimer();
    expect(socket.sent).toEqual(['x'.repeat(10)]);
  });

  it('refuses what its buffer does not hold: what waits here and in the socket counts', () => {
    const { send, socket, link } = open({ sendBufferBytesMax: 100 });
    socket.bufferedAmount = 60;
    expect(send('x'.repeat(30))).toBeUndefined();
    expect(send('x'.repeat(11))).toBe('linkFull');
    expect(send('x'.repeat(10))).toBeUndefined();
    expect(link.stats()).toMatchObject({ framesOut: 2, bytesOut: 0, bufferedBytes: 100 });
  });

  it('sends the frames of one turn as one message, and at once what would grow beyond a batch', () => {
    const { send, socket, link } = open({ batchBytesMax: 10 });
    for (const message of ['aaaaa', 'bbbbb', 'c']) send(message);
    expect(socket.sent).toEqual(['aaaaabbbbb']);
    vi.advanceTimersByTime(0);
    expect(socket.sent).toEqual(['aaaaabbbbb', 'c']);
    expect(link.stats()).toMatchObject({ framesOut: 3, bytesOut: 11, messagesOut: 2, bufferedBytes: 0 });
  });

  it('delivers nothing of a message of which any frame is malformed, and nothing after its end', () => {
    const { receive, received, socket, lines, down } = open();
    receive('node/1:a,node/1:b');
    receive('node/1:c,malformed');
    receive('node/1:d');
    expect(received.map(({ message }) => message)).toEqual(['a', 'b']);
    expect(socket.ends).toEqual([['close', 4001, 'MALFORMED_FRAME']]);
    expect(down).toEqual(['MALFORMED_FRAME']);
    expect(lines).toMatchObject([
      { level: 'warn', fields: { peer: 'node/1', code: 'MALFORMED_FRAME', messageBytes: 18 } },
    ]);
  });

  it('closes at a frame of another sender; the log has 64 characters of its name', () => {
    const { receive, received, socket, lines } = open();
    receive(`node/1:a,${'n'.repeat(100)}:b,node/1:c`);
    expect(received.map(({ message }) => message)).toEqual(['a']);
    expect(socket.ends).toEqual([['close', 4002, 'SPOOFED_SENDER']]);
    expect(lines).toMatchObject([{ fields: { code: 'SPOOFED_SENDER', claimed: 'n'.repeat(64) } }]);
  });

  it('closes at text', () => {
    const { socket, down } = open();
    socket.emit('message', Buffer.from('node/1:a'), false);
    expect([socket.ends, down]).toEqual([[['close', 1003, 'TEXT_FRAME']], ['TEXT_FRAME']]);
  });

  it('sends what waits before it closes, then nothing, and cuts a peer that does not follow', () => {
    const { send, socket, link, down } = open({ closeGraceMs: 50 });
    send('last');
    link.close('GOING_AWAY');
    expect([socket.sent, socket.ends]).toEqual([['last'], [['close', 1001, 'GOING_AWAY']]]);
    expect(send('later')).toBe('noRoute');
    link.close('TAKEN_OVER');
    vi.advanceTimersByTime(49);
    expect(socket.ends).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(socket.ends.slice(1)).toEqual(['terminate']);
    expect([down, socket.sent, vi.getTimerCount()]).toEqual([['GOING_AWAY'], ['last'], 0]);
  });

  it('has no route for what cannot be encoded, and stays', () => {
    const { send, link, lines } = open();
    expect(send('unencodable')).toBe('noRoute');
    expect(lines).toMatchObject([{ level: 'error', message: 'unencodable frame' }]);
    expect([link.isUp, send('fine')]).toEqual([true, undefined]);
  });

  it('answers a probe once: true at a pong, false after its time or at the end of the link', () => {
    const { socket, link } = open();
    const answers: [string, boolean][] = [];
    const probe = (name: string) => link.probe(100, (alive) => answers.push([name, alive]));
    probe('answered');
    expect(socket.pings).toBe(1);
    socket.emit('pong');
    probe('silent');
    vi.advanceTimersByTime(99);
    expect(answers).toEqual([['answered', true]]);
    vi.advanceTimersByTime(1);
    probe('cut');
    link.terminate('enough');
    probe('later');
    vi.advanceTimersByTime(1_000);
    socket.emit('pong');
    expect(answers.slice(1)).toEqual([
      ['silent', false],
      ['cut', false],
      ['later', false],
    ]);
  });

  it('tells what was not asked for: frames with their part of the bytes, a message without frames, pings and pongs', () => {
    const { socket, receive, unasked } = open();
    receive('node/1:a');
    expect(unasked).toEqual([]);
    receive('node/1:unasked,node/1:unasked,node/1:b,node/1:c');
    socket.emit('ping');
    socket.emit('pong');
    expect(unasked.splice(0)).toEqual([
      [2, 23.5],
      [1, 0],
      [1, 0],
    ]);
  });

  it('reads nothing in a pause, which ends with the link at the latest', () => {
    const { socket, link } = open();
    link.pause(0);
    link.pause(50);
    link.pause(10);
    vi.advanceTimersByTime(49);
    expect(socket.reads).toEqual(['pause']);
    vi.advanceTimersByTime(1);
    expect(socket.reads).toEqual(['pause', 'resume']);
    link.pause(50);
    link.close('GOING_AWAY');
    link.pause(50);
    expect(socket.reads.slice(2)).toEqual(['pause', 'resume']);
  });
});

/** The limit of beginning calls to one process: additive increase, multiplicative decrease. */
import { describe, expect, it } from 'vitest';
import { BeginLimit } from '../../../core/actors/admission/begin-limit.ts';

/** A limit with `underWay` calls; refused once at 0 with that many under way if `refused`. */
function limitWith(underWay: number): BeginLimit {
  const limit = new BeginLimit();
  for (let call = 0; call < underWay; call += 1) limit.start();
  return limit;
}

function end(limit: BeginLimit, refused: boolean, nowMs: number): number {
  limit.end();
  limit.answered(refused, nowMs);
  return limit.limit;
}

describe('a limit of beginning calls', () => {
  it('has room for 4,096 calls at first, and for no more', () => {
    const limit = limitWith(4_095);
    expect(limit.hasRoom()).toBe(true);
    limit.start();
    expect(limit.hasRoom()).toBe(false);
    limit.end();
    expect(limit.hasRoom()).toBe(true);
    expect(end(limit, false, 0)).toBe(4_096);
  });

  it('falls at a refusal to four fifths of the calls under way, at most once in 100 ms, and not below 64', () => {
    const limit = limitWith(1_000);
    expect(end(limit, true, 0)).toBe(800);
    expect(end(limit, true, 99)).toBe(800);
    // 998 are under way, more than the limit: four fifths of the limit.
    expect(end(limit, true, 100)).toBe(640);
    expect(end(limit, true, 199)).toBe(640);
    expect(end(limit, true, 200)).toBe(512);
    for (let nowMs = 300; nowMs <= 2_200; nowMs += 100) end(limit, true, nowMs);
    expect(limit.limit).toBe(64);
  });

  it('rises by one at each accepted call while at least half of it is in use', () => {
    const limit = limitWith(103);
    expect(end(limit, true, 0)).toBe(82);
    for (let call = 1; call < 41; call += 1) expect(end(limit, false, 0)).toBe(82 + call);
    // 61 under way, exactly half of 122; then 60 of 123.
    expect(end(limit, false, 0)).toBe(123);
    expect(end(limit, false, 0)).toBe(123);
  });
});

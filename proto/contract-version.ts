/** The contract version that this server speaks: `MAJOR[.MINOR[.PATCH]]`, optional leading `v`; `1` means 1.0. */
export const contractVersion = '1.0';

const major = 1;
const minor = 0;

/** Whether a client that names this version is served: same major, no higher minor; empty means current. */
export function isSupportedContractVersion(version: string): boolean {
  if (version === '') return true;
  const match = /^v?(\d{1,9})(?:\.(\d{1,9})(?:\.\d{1,9})?)?$/.exec(version);
  if (!match) return false;
  return Number(match[1]) === major && Number(match[2] ?? 0) <= minor;
}

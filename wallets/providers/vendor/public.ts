/** The simulated vendor, for the simulated world and for its own process. */
export { HeldKeys } from './keys.ts';
export { VendorBook, type VendorConduct, type VendorOrder, VendorRefusal, type VendorStatus } from './model.ts';

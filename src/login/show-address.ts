/** Addresses of identity providers in logs and findings. */

/** Without query and credentials, which may be secret. */
export function showAddress(url: string): string {
  return url.replace(/[?#].*/s, '').replace(/\/\/[^/@]*@/, '//')
}

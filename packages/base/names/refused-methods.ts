/** Methods that no author may call with: of tunnels, and of servers that repeat the request. */
export const refusedMethods: readonly string[] = ['CONNECT', 'TRACE', 'TRACK']

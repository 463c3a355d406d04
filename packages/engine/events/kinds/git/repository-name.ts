/** Names of repositories that are the same for all of their addresses. */

/**
 * Host and path in lower case, such as `git.example.com/shop/web`: the same for HTTP and SSH, and with or without `.git`.
 * A repository on this machine has its path for a name. Undefined where the text is no address of a repository.
 */
export function repositoryName(address: string): string | undefined {
  const [, host = '', path = ''] = /^[^/:@\s]+@([^/:\s]+):(.*)$/.exec(address) ?? []
  if (host !== '') return join(host, path)
  if (address.startsWith('/')) return join('', address)
  const url = URL.parse(address)
  if (url === null || url.pathname.length < 2) return undefined
  return join(url.hostname, url.pathname)
}

function join(host: string, path: string): string {
  const parts = path.split('/').filter((part) => part !== '')
  return [host, ...parts]
    .join('/')
    .replace(/\.git$/i, '')
    .toLowerCase()
}

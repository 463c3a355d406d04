/** A Git repository on loopback, served over HTTP by Git itself. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { createFolder, removeFolder } from './temporary-folder.ts'
import type { TestEnd } from './test-end.ts'

export interface GitServer {
  /** Address of the repository. */
  readonly url: string
  /** Its files. */
  readonly folder: string
  /** Headers `Authorization` of its requests, in order. */
  readonly authorizations: (string | undefined)[]
  /** Commits files, and links as `->target`. @returns the commit */
  commit(files: Readonly<Record<string, string>>): string
  git(...args: string[]): string
}

/** @param authorization Requests without it are answered with 401 */
export async function startGitServer(t: TestEnd, authorization?: string): Promise<GitServer> {
  const folder = createFolder('repository')
  const env = { PATH: process.env['PATH'], HOME: folder, GIT_CONFIG_NOSYSTEM: '1' }
  const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com']
  const git = (...args: string[]) =>
    execFileSync('git', [...author, ...args], { cwd: folder, env, encoding: 'utf8' }).trim()
  git('init', '--quiet', '--initial-branch=main', '.')
  const authorizations: (string | undefined)[] = []
  const server = createServer((request, response) => {
    authorizations.push(request.headers.authorization)
    if (authorization !== undefined && request.headers.authorization !== authorization) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
    } else serveGit(request, response, { folder, env })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
    removeFolder(folder)
  })
  const commit: GitServer['commit'] = (files) => {
    for (const [name, content] of Object.entries(files)) {
      const file = join(folder, name)
      mkdirSync(dirname(file), { recursive: true })
      if (content.startsWith('->')) symlinkSync(content.slice(2), file)
      else writeFileSync(file, content)
    }
    git('add', '--all')
    git('commit', '--quiet', '--message=change')
    return git('rev-parse', 'HEAD')
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/shop.git`,
    folder,
    authorizations,
    commit,
    git,
  }
}

/** The smart protocol: what Git advertises, and the pack that a client asks for. */
function serveGit(
  request: IncomingMessage,
  response: ServerResponse,
  { folder, env }: { readonly folder: string; readonly env: NodeJS.ProcessEnv },
): void {
  const url = new URL(request.url ?? '/', 'http://git')
  const isAdvertisement =
    url.pathname === '/shop.git/info/refs' && url.searchParams.get('service') === 'git-upload-pack'
  if (!isAdvertisement && url.pathname !== '/shop.git/git-upload-pack') {
    response.writeHead(404).end()
    return
  }
  const child = spawn(
    'git',
    isAdvertisement ? ['http-backend'] : ['upload-pack', '--stateless-rpc', '.'],
    {
      cwd: folder,
      env: {
        ...env,
        ...(isAdvertisement && advertised(folder)),
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    },
  )
  child.stdin.on('error', () => {})
  request.pipe(child.stdin)
  const kind = isAdvertisement ? 'advertisement' : 'result'
  response.writeHead(200, {
    'content-type': `application/x-git-upload-pack-${kind}`,
    'cache-control': 'no-cache',
  })
  if (isAdvertisement) void sendBody(child.stdout, response)
  else child.stdout.pipe(response)
}

/** What a web server tells Git's own program. */
function advertised(folder: string): NodeJS.ProcessEnv {
  return {
    GIT_PROJECT_ROOT: folder,
    GIT_HTTP_EXPORT_ALL: '1',
    PATH_INFO: '/.git/info/refs',
    QUERY_STRING: 'service=git-upload-pack',
    REQUEST_METHOD: 'GET',
  }
}

/** Of a program, without the headers before it. */
async function sendBody(output: Readable, response: ServerResponse): Promise<void> {
  const bytes = await buffer(output)
  response.end(bytes.subarray(bytes.indexOf('\r\n\r\n') + 4))
}

/** Git repositories that authors of pipelines name: their addresses, and how one commit is fetched. */

/** An address of a repository: no option, no command, and no backslash, by which programs find different hosts in it. */
export const repositoryPattern =
  /^(?:(?:https?|ssh|git|file):\/\/[^-\s\\\p{Cc}][^\s\\\p{Cc}]*|[A-Za-z0-9._-]+@[A-Za-z0-9][A-Za-z0-9._-]*:[^-\s:\\\p{Cc}][^\s\\\p{Cc}]*|\/[^\s\\\p{Cc}]*)$/u

const revisionPattern = /^[A-Za-z0-9_][A-Za-z0-9_./+@#-]*$/

/** Whether it is a branch, a tag or a commit, and neither an option nor a range. */
export function isRevision(text: string): boolean {
  return revisionPattern.test(text) && !text.includes('..')
}

/** For messages and logs. */
export function withoutUserinfo(url: string): string {
  return url.replace(/^(\w+:\/\/)[^/\s]*@/, '$1')
}

/** Git asks no terminal for a password, and follows no configuration of the machine. */
export const gitEnvironment: Readonly<Record<string, string>> = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_CONFIG_NOSYSTEM: '1',
}

/**
 * Fetches one commit, with as little history as its server allows.
 *
 * @param git Runs Git in an empty repository, and rejects unless it ends with 0
 * @returns the name of the commit in that repository
 */
export async function fetchCommit(
  git: (...args: string[]) => Promise<unknown>,
  { url, revision = 'HEAD' }: { readonly url: string; readonly revision?: string },
): Promise<string> {
  try {
    await git('fetch', '--quiet', '--depth', '1', '--no-tags', '--end-of-options', url, revision)
    return 'FETCH_HEAD'
  } catch (error) {
    // Not every server gives single commits, and none gives abbreviated ones.
    if (!/^[0-9a-f]{7,64}$/.test(revision)) throw error
    await git('fetch', '--quiet', '--end-of-options', url, '+refs/*:refs/fetched/*')
    return revision
  }
}

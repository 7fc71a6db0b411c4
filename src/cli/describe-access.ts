/** One line for a file or folder that this process may not use; undefined for another failure. */
export function describeAccess(error: unknown): string | undefined {
  const { code, path, syscall } = error as NodeJS.ErrnoException
  if (path === undefined) return undefined
  if (code === 'EROFS') return `${path} is on a read-only file system. Mount a folder for DATA_DIR that can be written.`
  if (syscall === 'mkdir' && ['ENOENT', 'EEXIST', 'ENOTDIR'].includes(String(code)))
    return `No folder can be made at ${path}. Set DATA_DIR to another folder.`
  if (code !== 'EACCES' && code !== 'EPERM') return undefined
  const user = process.getuid?.() ?? 'unknown'
  return (
    `User ${user} may not write ${path}. Give the folder of DATA_DIR to this user: ` +
    `on the machine that holds it, run chown -R ${user} on it.`
  )
}

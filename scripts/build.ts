/**
 * Builds `dist/` for the `crawler` bin: run by npm's `prepare`, so that `npx crawler` works inside a clone.
 * In the repository itself TypeScript runs by type stripping, without this step.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')

// A consumer who installs the published package has dist/ but neither the compiler nor the sources.
if (existsSync(compiler) && existsSync(join(root, 'src'))) {
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  execFileSync(process.execPath, [compiler, '--project', join(root, 'tsconfig.build.json')], {
    cwd: root,
    stdio: 'inherit',
  })
  const bin = join(root, 'dist', 'cli', 'main.js')
  if (existsSync(bin)) chmodSync(bin, 0o755)
}

/** Which Python runs the user's datasets and functions, and with which environment. */

/**
 * Set in every Python process of ours: one thread each (there are as many processes as makers), no GPU (a process that
 * touched it would hold memory there), and sets that iterate in one order everywhere.
 */
const ENVIRONMENT = {
  OMP_NUM_THREADS: '1',
  MKL_NUM_THREADS: '1',
  OPENBLAS_NUM_THREADS: '1',
  CUDA_VISIBLE_DEVICES: '',
  PYTHONHASHSEED: '0',
  MILLRACE_WORKER: '1',
}

/** The environment of a Python process: ours, with these changes. */
export function pythonEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, ...ENVIRONMENT }
}

/** Runs worker.py of the `millrace` package that the interpreter finds; nothing of the package is imported before. */
const LAUNCH = `
import importlib.util, runpy, sys
found = importlib.util.find_spec("millrace")
if found is None:
    sys.exit(f"{sys.executable} has no package millrace: install millrace-feed there, or name another interpreter")
sys.path[0] = found.submodule_search_locations[0] + "/_data"
runpy.run_path(sys.path[0] + "/worker.py", run_name="__main__")`

/**
 * The command of a Python process. A list is taken as it is; a name is an interpreter, which runs worker.py. By default
 * that is the one of MILLRACE_PYTHON, or python3. It comes from the program that opens a feed, never from the definition.
 */
export function pythonCommand(given?: string | readonly string[]): readonly string[] {
  if (typeof given === 'object') return given
  return [given ?? (process.env.MILLRACE_PYTHON || 'python3'), '-c', LAUNCH]
}

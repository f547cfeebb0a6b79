/** Version of this program: recorded in every `open`, sent in the default User-Agent. Kept equal to package.json by a test. */
export const VERSION = '0.1.0'

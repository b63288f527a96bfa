// Files that the bundle holds as texts.
declare module "*.jsonc" {
  const text: string;
  export default text;
}

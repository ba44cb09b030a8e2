package f64

import "math"

// expNear returns e^x for x from expMin to 0 as 2^(n/512)·exp(t), n the integer
// nearest to 512·x/log 2, the power from a table and exp(t), |t| ≤ log(2)/1024,
// from four terms of its series (P. T. P. Tang, Table-driven implementation of
// the exponential function in IEEE floating-point arithmetic, ACM Trans. Math.
// Softw. 15 (1989) 144–157). Its relative error is below 1.1 units in the last
// place. It is just short enough to be inlined: a call would cost as much again.
func expNear(x float64) float64 {
	k := x*expInvStep + expShift
	n := math.Float64bits(k)
	k -= expShift
	x = x - k*expStepHi - k*expStepLo
	p := math.Float64frombits(expTable[n%512] + n<<43)
	y := x * x
	return p + p*(x+y*(0.5+x*(1.0/6)+y*(1.0/24)))
}

// Constants of exp: 1/step, and step = log(2)/512 in two parts, the first with 31
// bits so that its multiples up to 2^19 are exact.
const (
	expInvStep = 738.6598609351492645682814366729687743624
	expStepHi  = 0x1.62e42feep-10
	expStepLo  = 3.7269822837316168284069e-13
	expShift   = 0x1.8p52 // adding it rounds to an integer, held in the low bits
	expMin     = -707     // below, the product in expNear may be subnormal
)

// expTable[j] holds the bits of 2^(j/512), correctly rounded, minus j·2^43: adding
// n·2^43, j = n mod 512, multiplies by the power of two that belongs to n.
var expTable = [512]uint64{
	0x3ff0000000000000, 0x3feffd8c86da1c0a, 0x3feffb1afa5abcbf, 0x3feff8ab5b2cbd11,
	0x3feff63da9fb3335, 0x3feff3d1e77170b4, 0x3feff168143b0281, 0x3fefef003103b10e,
	0x3fefec9a3e778061, 0x3fefea363d42b027, 0x3fefe7d42e11bbcc, 0x3fefe57411915a8a,
	0x3fefe315e86e7f85, 0x3fefe0b9b35659d8, 0x3fefde5f72f654b1, 0x3fefdc0727fc1762,
	0x3fefd9b0d3158574, 0x3fefd75c74f0bec2, 0x3fefd50a0e3c1f89, 0x3fefd2b99fa6407c,
	0x3fefd06b29ddf6de, 0x3fefce1ead925493, 0x3fefcbd42b72a836, 0x3fefc98ba42e7d30,
	0x3fefc74518759bc8, 0x3fefc50088f8093f, 0x3fefc2bdf66607e0, 0x3fefc07d61701716,
	0x3fefbe3ecac6f383, 0x3fefbc02331b9715, 0x3fefb9c79b1f3919, 0x3fefb78f03834e52,
	0x3fefb5586cf9890f, 0x3fefb323d833d93f, 0x3fefb0f145e46c85, 0x3fefaec0b6bdae53,
	0x3fefac922b7247f7, 0x3fefaa65a4b520ba, 0x3fefa83b23395dec, 0x3fefa612a7b26300,
	0x3fefa3ec32d3d1a2, 0x3fefa1c7c55189c6, 0x3fef9fa55fdfa9c5, 0x3fef9d8503328e6d,
	0x3fef9b66affed31b, 0x3fef994a66f951ce, 0x3fef973028d7233e, 0x3fef9517f64d9ef1,
	0x3fef9301d0125b51, 0x3fef90edb6db2dc1, 0x3fef8edbab5e2ab6, 0x3fef8ccbae51a5c8,
	0x3fef8abdc06c31cc, 0x3fef88b1e264a0e9, 0x3fef86a814f204ab, 0x3fef84a058cbae1e,
	0x3fef829aaea92de0, 0x3fef809717425438, 0x3fef7e95934f312e, 0x3fef7c962388149e,
	0x3fef7a98c8a58e51, 0x3fef789d83606e12, 0x3fef76a45471c3c2, 0x3fef74ad3c92df73,
	0x3fef72b83c7d517b, 0x3fef70c554eaea89, 0x3fef6ed48695bbc0, 0x3fef6ce5d23816c9,
	0x3fef6af9388c8dea, 0x3fef690eba4df41f, 0x3fef672658375d2f, 0x3fef654013041dc2,
	0x3fef635beb6fcb75, 0x3fef6179e2363cf8, 0x3fef5f99f8138a1c, 0x3fef5dbc2dc40bf0,
	0x3fef5be084045cd4, 0x3fef5a06fb91588f, 0x3fef582f95281c6b, 0x3fef565a51860746,
	0x3fef54873168b9aa, 0x3fef52b6358e15e8, 0x3fef50e75eb44027, 0x3fef4f1aad999e82,
	0x3fef4d5022fcd91d, 0x3fef4b87bf9cda38, 0x3fef49c18438ce4d, 0x3fef47fd7190241e,
	0x3fef463b88628cd6, 0x3fef447bc96ffc18, 0x3fef42be3578a819, 0x3fef4102cd3d09b9,
	0x3fef3f49917ddc96, 0x3fef3d9282fc1f27, 0x3fef3bdda27912d1, 0x3fef3a2af0b63bff,
	0x3fef387a6e756238, 0x3fef36cc1c78903a, 0x3fef351ffb82140a, 0x3fef33760c547f15,
	0x3fef31ce4fb2a63f, 0x3fef3028c65fa1ff, 0x3fef2e85711ece75, 0x3fef2ce450b3cb82,
	0x3fef2b4565e27cdd, 0x3fef29a8b16f0a30, 0x3fef280e341ddf29, 0x3fef2675eeb3ab98,
	0x3fef24dfe1f56381, 0x3fef234c0ea83f36, 0x3fef21ba7591bb70, 0x3fef202b17779965,
	0x3fef1e9df51fdee1, 0x3fef1d130f50d65c, 0x3fef1b8a66d10f13, 0x3fef1a03fc675d1f,
	0x3fef187fd0dad990, 0x3fef16fde4f2e280, 0x3fef157e39771b2f, 0x3fef1400cf2f6c18,
	0x3fef1285a6e4030b, 0x3fef110cc15d5346, 0x3fef0f961f641589, 0x3fef0e21c1c14833,
	0x3fef0cafa93e2f56, 0x3fef0b3fd6a454d2, 0x3fef09d24abd886b, 0x3fef08670653dfe4,
	0x3fef06fe0a31b715, 0x3fef05975721b004, 0x3fef0432edeeb2fd, 0x3fef02d0cf63eeac,
	0x3fef0170fc4cd831, 0x3fef001375752b40, 0x3feefeb83ba8ea32, 0x3feefd5f4fb45e20,
	0x3feefc08b26416ff, 0x3feefab46484ebb4, 0x3feef96266e3fa2d, 0x3feef812ba4ea77d,
	0x3feef6c55f929ff1, 0x3feef57a577dd72b, 0x3feef431a2de883b, 0x3feef2eb428335b4,
	0x3feef1a7373aa9cb, 0x3feef06581d3f669, 0x3feeef26231e754a, 0x3feeede91be9c811,
	0x3feeecae6d05d866, 0x3feeeb761742d808, 0x3feeea401b7140ef, 0x3feee90c7a61d55b,
	0x3feee7db34e59ff7, 0x3feee6ac4bcdf3ea, 0x3feee57fbfec6cf4, 0x3feee4559212ef89,
	0x3feee32dc313a8e5, 0x3feee20853c10f28, 0x3feee0e544ede173, 0x3feedfc4976d27fa,
	0x3feedea64c123422, 0x3feedd8a63b0a09b, 0x3feedc70df1c5175, 0x3feedb59bf29743f,
	0x3feeda4504ac801c, 0x3feed932b07a35df, 0x3feed822c367a024, 0x3feed7153e4a136a,
	0x3feed60a21f72e2a, 0x3feed5016f44d8f5, 0x3feed3fb2709468a, 0x3feed2f74a1af3f1,
	0x3feed1f5d950a897, 0x3feed0f6d5817663, 0x3feecffa3f84b9d4, 0x3feecf0018321a1a,
	0x3feece086061892d, 0x3feecd1318eb43ec, 0x3feecc2042a7d232, 0x3feecb2fde7006f4,
	0x3feeca41ed1d0057, 0x3feec9566f8827d0, 0x3feec86d668b3237, 0x3feec786d3001fe5,
	0x3feec6a2b5c13cd0, 0x3feec5c10fa920a1, 0x3feec4e1e192aed2, 0x3feec4052c5916c4,
	0x3feec32af0d7d3de, 0x3feec2532feaada6, 0x3feec17dea6db7d7, 0x3feec0ab213d5283,
	0x3feebfdad5362a27, 0x3feebf0d073537ca, 0x3feebe41b817c114, 0x3feebd78e8bb586b,
	0x3feebcb299fddd0d, 0x3feebbeeccbd7b2a, 0x3feebb2d81d8abff, 0x3feeba6eba2e35f0,
	0x3feeb9b2769d2ca7, 0x3feeb8f8b804f127, 0x3feeb8417f4531ee, 0x3feeb78ccd3deb0d,
	0x3feeb6daa2cf6642, 0x3feeb62b00da3b14, 0x3feeb57de83f4eef, 0x3feeb4d359dfd53d,
	0x3feeb42b569d4f82, 0x3feeb385df598d78, 0x3feeb2e2f4f6ad27, 0x3feeb24298571b06,
	0x3feeb1a4ca5d920f, 0x3feeb1098bed1bdf, 0x3feeb070dde910d2, 0x3feeafdac1351819,
	0x3feeaf4736b527da, 0x3feeaeb63f4d854c, 0x3feeae27dbe2c4cf, 0x3feead9c0d59ca07,
	0x3feead12d497c7fd, 0x3feeac8c32824135, 0x3feeac0827ff07cc, 0x3feeab86b5f43d92,
	0x3feeab07dd485429, 0x3feeaa8b9ee20d1e, 0x3feeaa11fba87a03, 0x3feea99af482fc8f,
	0x3feea9268a5946b7, 0x3feea8b4be135acc, 0x3feea84590998b93, 0x3feea7d902d47c65,
	0x3feea76f15ad2148, 0x3feea707ca0cbf0f, 0x3feea6a320dceb71, 0x3feea6411b078d26,
	0x3feea5e1b976dc09, 0x3feea584fd15612a, 0x3feea52ae6cdf6f4, 0x3feea4d3778bc944,
	0x3feea47eb03a5585, 0x3feea42c91c56acd, 0x3feea3dd1d1929fd, 0x3feea390532205d8,
	0x3feea34634ccc320, 0x3feea2fec30678b7, 0x3feea2b9febc8fb7, 0x3feea277e8dcc390,
	0x3feea23882552225, 0x3feea1fbcc140be7, 0x3feea1c1c70833f6, 0x3feea18a7420a036,
	0x3feea155d44ca973, 0x3feea123e87bfb7a, 0x3feea0f4b19e9538, 0x3feea0c830a4c8d4,
	0x3feea09e667f3bcd, 0x3feea077541ee718, 0x3feea052fa75173e, 0x3feea0315a736c75,
	0x3feea012750bdabf, 0x3fee9ff64b30aa09, 0x3fee9fdcddd47645, 0x3fee9fc62dea2f8a,
	0x3fee9fb23c651a2f, 0x3fee9fa10a38cee8, 0x3fee9f9298593ae5, 0x3fee9f86e7ba9fef,
	0x3fee9f7df9519484, 0x3fee9f77ce1303f6, 0x3fee9f7466f42e87, 0x3fee9f73c4eaa988,
	0x3fee9f75e8ec5f74, 0x3fee9f7ad3ef9011, 0x3fee9f8286ead08a, 0x3fee9f8d02d50b8f,
	0x3fee9f9a48a58174, 0x3fee9faa5953c849, 0x3fee9fbd35d7cbfd, 0x3fee9fd2df29ce7c,
	0x3fee9feb564267c9, 0x3feea0069c1a861d, 0x3feea024b1ab6e09, 0x3feea04597eeba8f,
	0x3feea0694fde5d3f, 0x3feea08fda749e5d, 0x3feea0b938ac1cf6, 0x3feea0e56b7fcf03,
	0x3feea11473eb0187, 0x3feea14652e958aa, 0x3feea17b0976cfdb, 0x3feea1b2988fb9ec,
	0x3feea1ed0130c132, 0x3feea22a4456e7a3, 0x3feea26a62ff86f0, 0x3feea2ad5e2850ac,
	0x3feea2f336cf4e62, 0x3feea33bedf2e1b9, 0x3feea3878491c491, 0x3feea3d5fbab091f,
	0x3feea427543e1a12, 0x3feea47b8f4abaa9, 0x3feea4d2add106d9, 0x3feea52cb0d1736a,
	0x3feea589994cce13, 0x3feea5e968443d9a, 0x3feea64c1eb941f7, 0x3feea6b1bdadb46d,
	0x3feea71a4623c7ad, 0x3feea785b91e07f1, 0x3feea7f4179f5b21, 0x3feea86562ab00ec,
	0x3feea8d99b4492ed, 0x3feea950c27004c2, 0x3feea9cad931a436, 0x3feeaa47e08e1957,
	0x3feeaac7d98a6699, 0x3feeab4ac52be8f7, 0x3feeabd0a478580f, 0x3feeac597875c644,
	0x3feeace5422aa0db, 0x3feead74029db01e, 0x3feeae05bad61778, 0x3feeae9a6bdb5598,
	0x3feeaf3216b5448c, 0x3feeafccbc6c19e6, 0x3feeb06a5e0866d9, 0x3feeb10afc931857,
	0x3feeb1ae99157736, 0x3feeb2553499284b, 0x3feeb2fed0282c8a, 0x3feeb3ab6ccce12c,
	0x3feeb45b0b91ffc6, 0x3feeb50dad829e70, 0x3feeb5c353aa2fe2, 0x3feeb67bff148396,
	0x3feeb737b0cdc5e5, 0x3feeb7f669e2802b, 0x3feeb8b82b5f98e5, 0x3feeb97cf65253d1,
	0x3feeba44cbc8520f, 0x3feebb0faccf9243, 0x3feebbdd9a7670b3, 0x3feebcae95cba768,
	0x3feebd829fde4e50, 0x3feebe59b9bddb5b, 0x3feebf33e47a22a2, 0x3feec01121235681,
	0x3feec0f170ca07ba, 0x3feec1d4d47f2598, 0x3feec2bb4d53fe0d, 0x3feec3a4dc5a3dd3,
	0x3feec49182a3f090, 0x3feec581414380f2, 0x3feec674194bb8d5, 0x3feec76a0bcfc15e,
	0x3feec86319e32323, 0x3feec95f4499c647, 0x3feeca5e8d07f29e, 0x3feecb60f4424fcb,
	0x3feecc667b5de565, 0x3feecd6f23701b15, 0x3feece7aed8eb8bb, 0x3feecf89dacfe68c,
	0x3feed09bec4a2d33, 0x3feed1b1231475f7, 0x3feed2c980460ad8, 0x3feed3e504f696b1,
	0x3feed503b23e255d, 0x3feed625893523d4, 0x3feed74a8af46052, 0x3feed872b8950a73,
	0x3feed99e1330b358, 0x3feedacc9be14dca, 0x3feedbfe53c12e59, 0x3feedd333beb0b7e,
	0x3feede6b5579fdbf, 0x3feedfa6a1897fd2, 0x3feee0e521356eba, 0x3feee226d59a09ee,
	0x3feee36bbfd3f37a, 0x3feee4b3e100301e, 0x3feee5ff3a3c2774, 0x3feee74dcca5a413,
	0x3feee89f995ad3ad, 0x3feee9f4a17a4735, 0x3feeeb4ce622f2ff, 0x3feeeca868742ee4,
	0x3feeee07298db666, 0x3feeef692a8fa8cd, 0x3feef0ce6c9a8952, 0x3feef236f0cf3f3a,
	0x3feef3a2b84f15fb, 0x3feef511c43bbd62, 0x3feef68415b749b1, 0x3feef7f9ade433c6,
	0x3feef9728de5593a, 0x3feefaeeb6ddfc87, 0x3feefc6e29f1c52a, 0x3feefdf0e844bfc6,
	0x3feeff76f2fb5e47, 0x3fef01004b3a7804, 0x3fef028cf22749e4, 0x3fef041ce8e77680,
	0x3fef05b030a1064a, 0x3fef0746ca7a67a7, 0x3fef08e0b79a6f1f, 0x3fef0a7df9285775,
	0x3fef0c1e904bc1d2, 0x3fef0dc27e2cb5e5, 0x3fef0f69c3f3a207, 0x3fef111462c95b60,
	0x3fef12c25bd71e09, 0x3fef1473b0468d30, 0x3fef16286141b33d, 0x3fef17e06ff301f4,
	0x3fef199bdd85529c, 0x3fef1b5aab23e61e, 0x3fef1d1cd9fa652c, 0x3fef1ee26b34e065,
	0x3fef20ab5fffd07a, 0x3fef2277b9881650, 0x3fef244778fafb22, 0x3fef261a9f8630ad,
	0x3fef27f12e57d14b, 0x3fef29cb269e601f, 0x3fef2ba88988c933, 0x3fef2d89584661a1,
	0x3fef2f6d9406e7b5, 0x3fef31553dfa8313, 0x3fef33405751c4db, 0x3fef352ee13da7cb,
	0x3fef3720dcef9069, 0x3fef39164b994d23, 0x3fef3b0f2e6d1675, 0x3fef3d0b869d8f0f,
	0x3fef3f0b555dc3fa, 0x3fef410e9be12cb9, 0x3fef43155b5bab74, 0x3fef451f95018d17,
	0x3fef472d4a07897c, 0x3fef493e7ba2c38c, 0x3fef4b532b08c968, 0x3fef4d6b596f948c,
	0x3fef4f87080d89f2, 0x3fef51a638197a3c, 0x3fef53c8eacaa1d6, 0x3fef55ef2158a91f,
	0x3fef5818dcfba487, 0x3fef5a461eec14be, 0x3fef5c76e862e6d3, 0x3fef5eab3a99745b,
	0x3fef60e316c98398, 0x3fef631e7e2d479d, 0x3fef655d71ff6075, 0x3fef679ff37adb4a,
	0x3fef69e603db3285, 0x3fef6c2fa45c4dfd, 0x3fef6e7cd63a8315, 0x3fef70cd9ab294e4,
	0x3fef7321f301b460, 0x3fef7579e065807d, 0x3fef77d5641c0658, 0x3fef7a347f63c159,
	0x3fef7c97337b9b5f, 0x3fef7efd81a2ece1, 0x3fef81676b197d17, 0x3fef83d4f11f8220,
	0x3fef864614f5a129, 0x3fef88bad7dcee90, 0x3fef8b333b16ee12, 0x3fef8daf3fe592e8,
	0x3fef902ee78b3ff6, 0x3fef92b2334ac7ee, 0x3fef953924676d76, 0x3fef97c3bc24e350,
	0x3fef9a51fbc74c83, 0x3fef9ce3e4933c7e, 0x3fef9f7977cdb740, 0x3fefa212b6bc3181,
	0x3fefa4afa2a490da, 0x3fefa7503ccd2be5, 0x3fefa9f4867cca6e, 0x3fefac9c80faa594,
	0x3fefaf482d8e67f1, 0x3fefb1f78d802dc2, 0x3fefb4aaa2188510, 0x3fefb7616ca06dd6,
	0x3fefba1bee615a27, 0x3fefbcda28a52e59, 0x3fefbf9c1cb6412a, 0x3fefc261cbdf5be7,
	0x3fefc52b376bba97, 0x3fefc7f860a70c22, 0x3fefcac948dd7274, 0x3fefcd9df15b82ac,
	0x3fefd0765b6e4540, 0x3fefd35288633625, 0x3fefd632798844f8, 0x3fefd916302bd526,
	0x3fefdbfdad9cbe14, 0x3fefdee8f32a4b45, 0x3fefe1d802243c89, 0x3fefe4cadbdac61d,
	0x3fefe7c1819e90d8, 0x3fefeabbf4c0ba54, 0x3fefedba3692d514, 0x3feff0bc4866e8ad,
	0x3feff3c22b8f71f1, 0x3feff6cbe15f6314, 0x3feff9d96b2a23d9, 0x3feffceaca4391b6,
}
